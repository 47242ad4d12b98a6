# SPDX-License-Identifier: Apache-2.0
"""What the actions in plugins/ have in common."""
