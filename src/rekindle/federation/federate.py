# SPDX-License-Identifier: Apache-2.0
"""``rekindle federate``: a federation's jobs; what it is on its hosts; and the end of one that is up."""

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from rekindle.cli.plays import run_playbook, start_playbook
from rekindle.cli.verb import FAILED, OF_STATE, OK, Answer, Json, Verb, print_answer
from rekindle.records import Complaint, decode_json
from rekindle.report.data import ResultsData
from rekindle.report.table import measure_terminal

from .settings import SERVER, SITES
from .status import Federation
from .view import format_federation


def run(
    context: typer.Context,
    status: Annotated[
        bool, typer.Option("--status", help="Show what the federation is on its hosts, and run nothing.")
    ] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="End the federation that rekindle_federation_keep left up.")
    ] = False,
    json: Json = False,
) -> Answer:
    """Run the federation's jobs, or ask all of its hosts and print what they are.

    Raises:
        Complaint: the inventory has no federation, or with ``json`` no host answered.
    """
    if status and stop:
        raise typer.BadParameter("it is one or the other", param_hint="--status, --stop")
    if not (status or stop):
        return run_playbook("federate.yml", context.args, json)
    with tempfile.TemporaryDirectory(prefix="rekindle-") as folder:
        file = Path(folder, "federation.json")
        os.environ["REKINDLE_FEDERATION"] = str(file)
        done = f"do={'stop' if stop else 'status'}"
        ended, _ = start_playbook("federation.yml", ["-e", done, *context.args], json, None)
        if not file.exists():
            if ended == OK or json:
                raise _refusal(ended)
            return Answer(ended, "")
        found = decode_json(file.read_bytes(), Federation)
    state = OF_STATE["ok" if found.good else "failed"] if ended == OK else FAILED
    return print_answer(state, format_federation(found, *measure_terminal()), found, json)


def _refusal(status: int) -> Complaint:
    if status == OK:
        message = f"The inventory has no federation: its groups {SERVER} and {SITES} have no hosts."
        return Complaint(message, "put hosts into both, and run rekindle federate.")
    return Complaint("No host has answered, and Ansible has reported why.", "see standard error.")


VERB = Verb(
    "federate",
    run,
    (ResultsData, Federation),
    ("-i lease_hosts", "-i lease_hosts -e rekindle_federation_keep=true", "--status -i lease_hosts --json"),
    "every job of the federation is PASS; with --status or --stop, nothing is wrong with any host",
    "a job is not, something is wrong, or a host was not reached",
    wrong="called wrongly: nothing began, and Ansible reports why",
    unknown="it was interrupted, or ended unexpectedly",
    passes_on=True,
)
