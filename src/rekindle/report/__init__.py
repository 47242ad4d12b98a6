"""Results as the table, report.html, results.json and junit.xml; and what ``--check`` ends with."""

# ruff: noqa: F401

from rekindle.doctor.told import findings

from .accepted import accepted_text
from .board import board_markdown, board_text
from .check import check_text, plan_lines
from .data import ResultsData, data
from .federation import federation_text
from .reports import summary, write_reports
from .table import grid, terminal
