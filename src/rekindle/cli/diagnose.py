"""``rekindle diagnose [PATH …]``: what made a run fail, from its files or any log."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rekindle import doctor
from rekindle.records.text import as_json
from rekindle.report import findings

HELP = "name what made a run fail, from its files or any log"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's own."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="log file, run's folder, workspace of NVFlare; - or nothing: standard input",
    )
    parser.add_argument("--json", action="store_true")


def run(args: argparse.Namespace) -> int:
    """Print what is found, echoes last; 1 if something is, else 0.

    Raises:
        RecordError: a path is not there.
    """
    found = doctor.diagnose_paths([Path(path) for path in args.paths if path != "-"])
    if "-" in args.paths or not args.paths:
        text = doctor.texts.text("standard input", sys.stdin.buffer.read(doctor.texts.LIMIT))
        found += doctor.diagnose_texts([text])
    found = tuple(sorted(found, key=lambda one: one.echo))
    print(as_json(found) if args.json else findings(found))
    return 1 if found else 0
