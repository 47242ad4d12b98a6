#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Open a ticket for each cause that had none yet; results.json comes on standard input.

    # group_vars/all.yml
    rekindle_on_end: [contrib/ticket.py, --state, /var/lib/rekindle/tickets.json, https://api.github.com/repos/me/fleet/issues]

A ticket is {"title", "body", "labels"}, as GitHub, Gitea and most webhooks take it; TICKET_TOKEN is sent as a
bearer token. A cause that is gone is forgotten, so that it has a new ticket when it comes back.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from urllib.request import Request, urlopen

_TIMEOUT_S = 20


def main() -> None:
    """Post what is new, and write down what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--state", type=Path, required=True, help="a file of ours: causes that have a ticket")
    given = parser.parse_args()
    known = json.loads(given.state.read_text(encoding="utf-8")) if given.state.exists() else []
    there, done = [], False
    try:
        for cause in json.load(sys.stdin)["causes"]:
            if cause["name"] not in known:
                post(given.url, ticket(cause))
            there.append(cause["name"])
        done = True
    finally:
        given.state.write_text(json.dumps(there if done else [*known, *there]), encoding="utf-8")


def ticket(cause: dict) -> dict:
    """Return the ticket of a cause; what hosts said is in a block of code."""
    lines = [
        f"{cause['verdict']} on {len(cause['hosts'])} hosts: {', '.join(cause['hosts'])}",
        f"jobs: {', '.join(cause['jobs']) or 'the host itself'}",
        f"remedy: {cause['remedy'] or 'none is known'}",
        cause["message"],
    ]
    body = "\n".join("    " + line.replace("\n", " ") for line in lines)
    title = f"{cause['verdict']}: {cause['message']}"[:120].replace("\n", " ")
    return {"title": title, "body": body, "labels": ["rekindle", cause["layer"] or "unknown layer"]}


def post(url: str, content: dict) -> None:
    """Send JSON."""
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("TICKET_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    request = Request(url, json.dumps(content).encode(), headers)
    with urlopen(request, timeout=_TIMEOUT_S) as answer:
        answer.read()


if __name__ == "__main__":
    main()
