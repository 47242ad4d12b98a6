# SPDX-License-Identifier: Apache-2.0
"""Results of sites, as our component at the server records them."""

from rekindle.records.events import TaskEvent
from rekindle.records.evidence import EvidenceLine


def make_result(site, number, **fields):
    """Return a site's result of a round of training, of 960 weights, but for ``fields``."""
    recorded = {
        "time": float(number or 0),
        "task": "train",
        "return_code": "OK",
        "kind": "WEIGHTS",
        "values": 960,
        "bytes": 7680,
        "finite": True,
        "norm": 10.0,
        "moved": 9.0,
        "trained": 9.0,
        "metrics": {},
        **fields,
    }
    return TaskEvent(site=site, round=number, **recorded)


def record_events(events):
    """Return events as lines of the server's evidence."""
    return [EvidenceLine(event, "evidence/server.jsonl", number) for number, event in enumerate(events, 1)]
