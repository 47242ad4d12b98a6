# SPDX-License-Identifier: Apache-2.0
"""Turns the collector's output (roles/preflight) into a host's record, and lists what the host lacks."""

# ruff: noqa: F401

from .archives import add_brought, describe_brought, find_archive, name_archive
from .frames import FactsError
from .needs import choose_interpreter, find_twin, find_unmet, list_warnings
from .record import find_path_flaw, make_host_record, read_host
