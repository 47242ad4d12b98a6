"""Results as the table, report.html, results.json and junit.xml."""

from .data import ResultsData, data
from .findings import findings
from .reports import summary, write_reports

__all__ = ["ResultsData", "data", "findings", "summary", "write_reports"]
