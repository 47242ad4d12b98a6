# SPDX-License-Identifier: Apache-2.0
"""Starts, watches and ends one run of a job on a host."""
