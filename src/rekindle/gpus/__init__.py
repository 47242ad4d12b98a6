# SPDX-License-Identifier: Apache-2.0
"""What is known of models of GPUs, and why those of a host do not show."""
