# SPDX-License-Identifier: Apache-2.0
"""The verbs and what each does, known without any of their modules, so that ``--help`` imports none."""

from importlib import import_module

from .verb import Verb

_PLAYS = {"site": "SITE", "retire": "RETIRE"}
"""Verbs of the module plays; any other has a module of its own."""
_PASSES_ON = "All other options go to ansible-playbook: -i, --limit, -e, --ask-vault-pass, -v ..."
HELP = {
    "site": f"Bring hosts back and prove their jobs. Results go to results/ here. {_PASSES_ON}",
    "federate": (
        "Bring hosts back and prove jobs over all of them, with TLS. It also shows certificates, releases, "
        f"clocks and whether the federation runs, and ends a running federation. {_PASSES_ON}"
    ),
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
    module = import_module(f".{'plays' if name in _PLAYS else name}", __package__)
    verb: Verb = getattr(module, _PLAYS.get(name, "VERB"))
    return verb
