# SPDX-License-Identifier: Apache-2.0
"""Rekindle: a leased GPU host back to a working, proven NVIDIA FLARE environment."""
