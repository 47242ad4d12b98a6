# SPDX-License-Identifier: Apache-2.0
"""What runs playbooks, jobs and stand-ins of trainers in tests, and waits for them."""
