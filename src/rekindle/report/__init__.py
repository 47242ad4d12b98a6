"""Results as the table, report.html, results.json and junit.xml."""

from .findings import findings
from .reports import summary, write_reports

__all__ = ["findings", "summary", "write_reports"]
