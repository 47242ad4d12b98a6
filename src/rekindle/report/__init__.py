"""Results as the table, report.html, results.json and junit.xml; and what ``--check`` ends with."""

from .check import check_text, plan_lines
from .data import ResultsData, data
from .findings import findings
from .reports import summary, write_reports

__all__ = [
    "ResultsData",
    "check_text",
    "data",
    "findings",
    "plan_lines",
    "summary",
    "write_reports",
]
