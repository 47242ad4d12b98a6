"""``rekindle diff ENV_A ENV_B``: what differs between the environments of two env.json."""

from __future__ import annotations

import argparse
from pathlib import Path

from rekindle.capsule.differences import differences
from rekindle.records import EnvRecord, read
from rekindle.records.text import printed

HELP = "say what differs between the environments of two env.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's own."""
    parser.add_argument("one", type=Path, metavar="ENV_A")
    parser.add_argument("other", type=Path, metavar="ENV_B")


def run(args: argparse.Namespace) -> int:
    """Print each difference on a line of its own; 0 if there is none, else 1.

    Raises:
        RecordError: a file is no env.json.
    """
    lines = list(differences(read(args.one, EnvRecord), read(args.other, EnvRecord)))
    print("\n".join(map(printed, lines)) if lines else "The environments are the same.")
    return 1 if lines else 0
