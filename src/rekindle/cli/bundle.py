"""``rekindle bundle PLAN.json …``: the locked wheels of plans, for hosts without a network."""

from __future__ import annotations

import argparse
from pathlib import Path

from rekindle.capsule.wheelhouse import bundle

HELP = "collect the locked wheels of plans, for hosts without a network"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's own."""
    parser.add_argument("plans", type=Path, nargs="+", metavar="PLAN.json", help="beside its host.json")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="WHEELHOUSE")


def run(args: argparse.Namespace) -> int:
    """Fill the wheelhouse.

    Raises:
        RecordError: a plan or its host record is none.
        BundleError: a file could not be fetched.
    """
    bundle(args.plans, args.output)
    return 0
