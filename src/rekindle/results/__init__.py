# SPDX-License-Identifier: Apache-2.0
"""What a results folder holds: who left a playbook and why, runs that were collected, their seals."""
