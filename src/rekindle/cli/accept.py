# SPDX-License-Identifier: Apache-2.0
"""``rekindle accept RESULTS…``: re-checks hosts and GPUs from the records of many runs."""

from rekindle.records import RecordError
from rekindle.report.acceptance import format_acceptance
from rekindle.report.table import measure_terminal
from rekindle.results.acceptance import FleetAcceptance, compare_accepted

from .record_paths import Runs, gather_folders
from .verb import OF_STATE, Answer, Json, Verb, print_answer


def run(folders: Runs, json: Json = False) -> Answer:
    """Compare each host with norms, the fleet and its own past, and print the flaws.

    Raises:
        RecordError: a folder has no run, or no run an acceptance.
    """
    found, unread = gather_folders(folders)
    acceptance, _ = compare_accepted(found.values(), unread)
    if not acceptance.hosts:
        raise RecordError("No acceptance.json is in these runs.", "run playbooks/accept.yml.")
    return print_answer(
        OF_STATE[acceptance.state], format_acceptance(acceptance, *measure_terminal()), acceptance, json
    )


VERB = Verb(
    "accept",
    run,
    FleetAcceptance,
    ("results/RUN", "results --json"),
    "the newest acceptance of every host is PASS",
    "one is not",
)
