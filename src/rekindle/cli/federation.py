# SPDX-License-Identifier: Apache-2.0
"""``rekindle federation status|stop``: what a federation is on its hosts, and the end of one that is up."""

import os
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rekindle.federation.status import Federation
from rekindle.records import Complaint, decode
from rekindle.report.federation import federation_text
from rekindle.report.table import terminal
from rekindle.settings.groups import SERVER, SITES

from .plays import play
from .verb import FAILED, OF_STATE, OK, Answer, Json, Verb, answer


class What(StrEnum):
    """What is done."""

    status = "status"
    stop = "stop"


def run(
    context: typer.Context,
    what: Annotated[What, typer.Argument(help="stop ends what rekindle_federation_keep left up.")],
    json: Json = False,
) -> Answer:
    """Ask all hosts, and print what they are.

    Raises:
        Complaint: the inventory has no federation, or with ``json`` no host answered.
    """
    with tempfile.TemporaryDirectory(prefix="rekindle-") as folder:
        file = Path(folder, "federation.json")
        os.environ["REKINDLE_FEDERATION"] = str(file)
        status, _ = play("federation.yml", ["-e", f"do={what.value}", *context.args], json, None)
        if not file.exists():
            if status == OK or json:
                raise _refusal(status)
            return Answer(status, "")
        found = decode(file.read_bytes(), Federation)
    state = OF_STATE["ok" if found.good else "failed"] if status == OK else FAILED
    return answer(state, federation_text(found, *terminal()), found, json)


def _refusal(status: int) -> Complaint:
    if status == OK:
        message = f"The inventory has no federation: its groups {SERVER} and {SITES} have no hosts."
        return Complaint(message, "put hosts into both, and run rekindle federate.")
    return Complaint("No host has answered, and Ansible has reported why.", "see standard error.")


VERB = Verb(
    "federation",
    run,
    Federation,
    ("status -i lease_hosts", "status -i lease_hosts --json 2> log", "stop -i lease_hosts"),
    "nothing is wrong with any host",
    "something is, or a host was not reached",
    wrong="called wrongly: nothing began, and Ansible reports why",
    unknown="it was interrupted, or ended unexpectedly",
    passes_on=True,
)
