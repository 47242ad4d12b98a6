"""From what the collector (roles/preflight) prints on a host to the host's record, and what it lacks."""

from .frames import FactsError
from .needs import interpreter, unmet
from .record import flaw, host_record

__all__ = ["FactsError", "flaw", "host_record", "interpreter", "unmet"]
