"""``rekindle report RESULTS_DIR``: the reports of a results folder again."""

from __future__ import annotations

import argparse
from pathlib import Path

from rekindle.report import summary, write_reports

HELP = "write the reports of a results folder again"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's own."""
    parser.add_argument("results", type=Path, metavar="RESULTS_DIR")


def run(args: argparse.Namespace) -> int:
    """Write them, and print the table; 0 if everything passed, else 1.

    Raises:
        RecordError: there is no results folder, or it cannot be written.
    """
    results = write_reports(args.results)
    print(summary(results, args.results))
    return 0 if results.passed else 1
