#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the commands that take hosts out of use whose own hardware or driver is the cause of a failure.

contrib/drain.py results/<run>/results.json          look at them
contrib/drain.py results/<run>/results.json | sh     and then run them

They are SLURM's; `--command 'kubectl cordon {host}'` has others. {host} and {reason} are quoted.
"""

import argparse
import json
import shlex
from pathlib import Path

_SLURM = "scontrol update nodename={host} state=drain reason={reason}"


def main() -> None:
    """Print a command for each host, once, with the first of its causes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="results.json of a run")
    parser.add_argument("--layers", default="host,driver", help="of causes: host,driver")
    parser.add_argument("--command", default=_SLURM, help="with {host} and {reason}")
    given = parser.parse_args()
    drained = set()
    for cause in json.loads(given.results.read_text(encoding="utf-8"))["causes"]:
        if cause["layer"] not in given.layers.split(",") or not cause["required"]:
            continue
        for host in cause["hosts"]:
            if host not in drained:
                drained.add(host)
                reason = f"rekindle: {cause['verdict']}: {cause['message']}"[:200]
                words = {"{host}": shlex.quote(host), "{reason}": shlex.quote(" ".join(reason.split()))}
                print(" ".join(_filled(word, words) for word in given.command.split(" ")))


def _filled(word: str, words: dict[str, str]) -> str:
    for name, text in words.items():
        if name in word:
            return word.replace(name, text)
    return word


if __name__ == "__main__":
    main()
