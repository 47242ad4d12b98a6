# SPDX-License-Identifier: Apache-2.0
"""Turns the collector's output (roles/preflight) into a host's record, and lists what the host lacks."""

# ruff: noqa: F401

from .brought import archive, archive_name, notice, with_brought
from .frames import FactsError
from .needs import interpreter, unmet
from .record import flaw, host_record
