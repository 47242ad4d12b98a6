# SPDX-License-Identifier: Apache-2.0
"""Federations over hosts: their certificates, and which host is what in a job."""
