"""The verbs and what each does, known without any of their modules, so that ``--help`` imports none."""

from importlib import import_module

from .verb import Verb

_PLAYS = {"site": "SITE", "federate": "FEDERATE", "check": "CHECK", "retire": "RETIRE"}
"""Verbs of the module plays; any other has a module of its own."""
_PASSES_ON = "Everything but --json goes to ansible-playbook: -i, --limit, -e, --ask-vault-pass, -v ..."
HELP = {
    "site": f"Bring hosts back and prove their jobs; results go to results/ here. {_PASSES_ON}",
    "federate": (
        f"Bring hosts back and prove jobs over all of them, in a federation with mutual TLS. {_PASSES_ON}"
    ),
    "federation": (
        "Show what a federation is on its hosts: certificates, releases, clocks, and whether it is up; "
        f"or end one that is up. {_PASSES_ON}"
    ),
    "check": f"Show what site would do on each host, and change nothing there nor here. {_PASSES_ON}",
    "retire": f"Take a last copy of what hosts have, and leave nothing of Rekindle there. {_PASSES_ON}",
    "upgrade": (
        "Run the same jobs with the release of NVFlare that hosts have and with another, in turn, "
        f"and show what would break, what takes more, and what differs in results. {_PASSES_ON}"
    ),
    "plan": "Decide from a host.json which builds go on that host, or on all of several.",
    "judge": "Judge runs again from their files.",
    "diagnose": "Name what made a run fail, from its files or any log.",
    "bundle": "Collect the locked wheels of plans, for hosts without a network.",
    "diff": "Show what differs between two runs, or between the environments of two env.json.",
    "report": "Write the reports of a results folder again.",
    "watch": "Show a run while it goes on: each host's stage, job and round, and the lease's time left.",
    "verify": "Name the files of a results folder that were altered since it was sealed.",
    "runs": "List runs: when each began, on what, how it ended, and how long it took.",
    "board": "Show the newest verdict on every job of many runs, since when it stands, and what changed.",
    "accept": "Re-check hosts and GPUs from the records of any number of runs.",
    "examples": "List NVFlare's examples: what each needs, where it could run, and its last verdict.",
    "schema": "Print the JSON schema of what a verb answers with --json.",
}


def load(name: str) -> Verb:
    """Return the verb of that name, with all that it imports."""
    module = import_module(f".{'plays' if name in _PLAYS else name}", __package__)
    verb: Verb = getattr(module, _PLAYS.get(name, "VERB"))
    return verb
