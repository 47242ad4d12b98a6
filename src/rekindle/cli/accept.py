# SPDX-License-Identifier: Apache-2.0
"""``rekindle accept RESULTS…``: re-checks hosts and GPUs from the records of many runs."""

from rekindle.records import RecordError
from rekindle.report.accepted import accepted_text
from rekindle.report.table import terminal
from rekindle.results.accepted import Accepted, accepted

from .folders import Runs, gathered
from .verb import OF_STATE, Answer, Json, Verb, answer


def run(folders: Runs, json: Json = False) -> Answer:
    """Compare each host with norms, the fleet and its own past, and print the flaws.

    Raises:
        RecordError: a folder has no run, or no run an acceptance.
    """
    found, unread = gathered(folders)
    acceptance, _ = accepted(found.values(), unread)
    if not acceptance.hosts:
        raise RecordError("No acceptance.json is in these runs.", "run playbooks/accept.yml.")
    return answer(OF_STATE[acceptance.state], accepted_text(acceptance, *terminal()), acceptance, json)


VERB = Verb(
    "accept",
    run,
    Accepted,
    ("results/RUN", "results --json"),
    "the newest acceptance of every host is PASS",
    "one is not",
)
