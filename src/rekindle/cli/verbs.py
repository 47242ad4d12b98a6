# SPDX-License-Identifier: Apache-2.0
"""The verbs and what each does, known without any of their modules, so that ``--help`` imports none."""

from importlib import import_module

from rekindle.host.rooms import load_room, load_rooms

from .verb import Verb

_PLAYS = {"site": "SITE", "retire": "RETIRE"}
"""Verbs of the module plays; any other has a module of its own, here or in the room that brings it."""
_PASSES_ON = "All other options go to ansible-playbook: -i, --limit, -e, --ask-vault-pass, -v ..."
_BROUGHT = {
    name: (room.__name__.split(".")[1], text)
    for room in load_rooms("help")
    for name, text in room.HELP.items()
}
"""Verbs of rooms, each with its room and what it does."""
HELP = {
    "site": f"Bring hosts back and prove their jobs. Results go to results/ here. {_PASSES_ON}",
    **{name: text.format(passes_on=_PASSES_ON) for name, (_, text) in _BROUGHT.items()},
    "retire": f"Take a last copy of what hosts have, and remove Rekindle. {_PASSES_ON}",
    "upgrade": (
        "Run the same jobs with another release of NVFlare. Then show what would break, and what differs. "
        f"{_PASSES_ON}"
    ),
    "job": "Show your own job as Rekindle understands it: its job.yml, and where each line comes from.",
    "plan": "Decide from host.json which builds go on a host. Several hosts share one build if any fits all.",
    "judge": "Judge runs again from their files.",
    "diagnose": "Name what made a run fail, from its files or any log.",
    "bundle": "Collect plans' locked wheels, for hosts without a network.",
    "diff": "Show what differs between two runs, or two env.json.",
    "report": "Write the reports of a results folder again.",
    "watch": "Show a run in progress: stages, jobs, rounds and time left.",
    "verify": "Name the files of a results folder altered since its seal.",
    "runs": "List runs, their hosts, how they ended and how long they took.",
    "board": "Show every job's newest verdict, since when, and what changed.",
    "accept": "Re-check hosts and GPUs from the records of many runs.",
    "schema": "Print the JSON schema of what a verb answers with --json.",
}


def load_verb(name: str) -> Verb:
    """Return the verb of that name, with all that it imports."""
    if name in _BROUGHT:
        module = load_room(_BROUGHT[name][0], name)
    else:
        module = import_module(f".{'plays' if name in _PLAYS else name}", __package__)
    verb: Verb = getattr(module, _PLAYS.get(name, "VERB"))
    return verb
