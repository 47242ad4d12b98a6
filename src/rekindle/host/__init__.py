# SPDX-License-Identifier: Apache-2.0
"""What runs on a host before anything is installed there, and what all rooms stand on: standard library."""
