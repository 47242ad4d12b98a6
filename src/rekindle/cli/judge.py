"""``rekindle judge RUN_DIR``: a verdict again, from the files of the run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from rekindle.judge import judge
from rekindle.records import VerdictRecord
from rekindle.records.text import as_json, printed

HELP = "judge a job's run again from its files"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's own."""
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    parser.add_argument("--json", action="store_true")


def run(args: argparse.Namespace) -> int:
    """Print the verdict; 0 if it is PASS, else 1.

    Raises:
        RecordError: there is no run.
    """
    verdict = judge(args.run_dir)
    print(as_json(verdict) if args.json else "\n".join(map(printed, _lines(verdict))))
    return 0 if verdict.verdict == "PASS" else 1


def _lines(verdict: VerdictRecord) -> Iterator[str]:
    yield f"{verdict.host} {verdict.job}: {verdict.verdict}" + (f": {verdict.cause}" if verdict.cause else "")
    for one in verdict.evidence:
        mark = {True: "holds", False: "FAILS", None: "cannot be told"}[one.holds]
        place = f" ({one.file}{f':{one.line}' if one.line else ''})" if one.file else ""
        yield f"  {one.claim}: {mark}. {one.says}{place}"
    for rung in verdict.rungs:
        word = {True: "holds", False: "FAILS", None: "not tried"}[rung.holds]
        yield f"  step {rung.name}: {word}. {rung.says}"
