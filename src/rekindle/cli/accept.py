# SPDX-License-Identifier: Apache-2.0
"""``rekindle accept``: re-checks hosts and GPUs from the records of many runs, or looks at this node."""

from pathlib import Path
from typing import Annotated

import typer

from rekindle.records import Complaint
from rekindle.results.acceptance import FleetAcceptance

from .prolog import NodeCheck, check_node
from .verb import Answer, Json, Runs, Verb


def run(  # noqa: PLR0913 - each is an option
    folders: Runs,
    *,
    prolog: Annotated[
        bool,
        typer.Option(
            "--prolog", help="Look at this node's own GPUs, in 3 s and with one line, as SLURM's Prolog may."
        ),
    ] = False,
    drain: Annotated[
        bool,
        typer.Option(
            "--drain", help="With --prolog: print only the command that drains the node, if that has to be."
        ),
    ] = False,
    now: Annotated[
        bool, typer.Option("--now", help="With --drain: run it, unless the node is drained already.")
    ] = False,
    make: Annotated[
        Path | None,
        typer.Option(
            "--make-norms",
            metavar="FILE",
            help="Write norms by the hosts without a finding, for rekindle_norms.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="Write a signed page, a sheet for each host, as HTML."
        ),
    ] = None,
    json: Json = False,
) -> Answer:
    """Compare each host with norms, the fleet and its own past, and print the flaws.

    Raises:
        RecordError: a folder has no run, no run an acceptance, no host is right for norms, or a file cannot
            be written.
    """
    if (drain and not prolog) or (now and not drain):
        raise Complaint("--drain goes with --prolog, and --now with --drain.", "see rekindle accept --help.")
    if prolog and (make or certificate):
        raise Complaint("--prolog looks at this node, and reads no runs.", "leave the other options out.")
    if prolog:
        return check_node(drain=drain, now=now, json=json)
    from . import fleet  # noqa: PLC0415 - a node is looked at in 3 s, and needs none of it

    return fleet.judge_fleet(folders, make, certificate, json)


VERB = Verb(
    "accept",
    run,
    (FleetAcceptance, NodeCheck),
    ("results/RUN", "results --json", "results --certificate gpus.html", "--prolog --drain --now"),
    "the newest acceptance of every host is PASS; --prolog: this node's GPUs are right",
    "one is not; --prolog: the node has to be drained",
    "called wrongly; --prolog: whether the node is right is not known",
)
