"""The command line, and what every verb has in common: 2 and one sentence if what it is given is no good."""

from __future__ import annotations

import argparse
import sys

from rekindle.records import Complaint
from rekindle.records.text import one_line

from . import bundle, diagnose, diff, judge, plan, report, verify

VERBS = (plan, judge, diagnose, bundle, diff, report, verify)


def main() -> int:
    """Run the verb that the command line names."""
    parser = argparse.ArgumentParser(
        prog="rekindle", description="Each verb redoes one stage from its records, on any machine."
    )
    verbs = parser.add_subparsers(required=True)
    for verb in VERBS:
        one = verbs.add_parser(verb.__name__.rpartition(".")[2], help=verb.HELP)
        verb.add_arguments(one)
        one.set_defaults(run=verb.run)
    args = parser.parse_args()
    try:
        return int(args.run(args))
    except Complaint as error:
        print(one_line(str(error)), file=sys.stderr)
        return 2
