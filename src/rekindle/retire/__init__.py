# SPDX-License-Identifier: Apache-2.0
"""The end of a lease: the last copy, packed on the host and checked on the controller, and the removal."""
