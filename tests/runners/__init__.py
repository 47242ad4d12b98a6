# SPDX-License-Identifier: Apache-2.0
"""What runs playbooks, jobs and toys of trainers in tests, and waits for them."""
