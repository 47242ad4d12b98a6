"""From the records in a results folder to the table, report.html, results.json and junit.xml."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from .data import data
from .gather import Results, gather
from .html import html
from .junit import write_junit
from .table import table

__all__ = ["Results", "run", "summary", "write_reports"]


def write_reports(folder: Path) -> Results:
    """Write the three files into ``folder``.

    Raises:
        RecordError: ``folder`` is no results folder.
    """
    results = gather(folder)
    (folder / "report.html").write_text(html(results), encoding="utf-8")
    (folder / "results.json").write_text(json.dumps(data(results), indent=2) + "\n", encoding="utf-8")
    write_junit(results, folder / "junit.xml")
    return results


def summary(results: Results, folder: Path) -> str:
    """Return what a run ends with on the terminal: the table, and where the report lies."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = max(shutil.get_terminal_size((120, 24)).columns, 80)
    return f"{table(results, width, colour)}\n\n{folder / 'report.html'}"


def run(folder: Path) -> int:
    """Do what ``rekindle report`` does: 0 if everything passed, else 1."""
    results = write_reports(folder)
    print(summary(results, folder))
    return 0 if results.passed else 1
