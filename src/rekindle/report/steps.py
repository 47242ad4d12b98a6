# SPDX-License-Identifier: Apache-2.0
"""What to type next after a failure: the command that began the run, for the hosts that failed alike."""

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rekindle.host import folders
from rekindle.records import PlaybookRecord
from rekindle.records.text import fold_line
from rekindle.results.causes import Cause
from rekindle.results.joints import is_joint_stage

_LIMIT = re.compile(r"(-l|--lim|--limi|--limit)(=.*)?")
"""Options of Ansible's that name hosts, with the value in them if there is a ``=``."""
_RESULTS = "rekindle_results"


class Step(NamedTuple):
    """A command."""

    words: str
    """As a shell reads them."""
    folder: str
    """In which it works; empty: in the one in which results were looked for."""

    def typed_in(self, here: Path) -> str:
        """Return what to type in the folder ``here``."""
        elsewhere = self.folder and self.folder != str(here)
        return f"cd {shlex.quote(self.folder)} && {self.words}" if elsewhere else self.words


def find_next_steps(causes: Sequence[Cause], playbook: PlaybookRecord, base: Path) -> list[Step | None]:
    """Return what to type next for each cause: what shows all evidence, or else what goes on.

    None where nothing that is typed helps, where nobody knows what was typed, and where a cause before it has
    the same.

    Args:
        causes: of rows that have failed.
        playbook: what was asked of hosts.
        base: the results folder as a user would name it.
    """
    named, steps = _lists(causes), []
    for cause in causes:
        step = _next(cause, playbook, base, named.get(tuple(cause.hosts)))
        steps.append(None if step in steps else step)
    return steps


def make_host_lists(causes: Iterable[Cause]) -> dict[str, str]:
    """Return the content of each file that a `Step` limits a run to, by its name in the results folder."""
    return {name: "".join(f"{host}\n" for host in hosts) for hosts, name in _lists(causes).items()}


def _lists(causes: Iterable[Cause]) -> dict[tuple[str, ...], str]:
    """Return the name of a file for each set of several hosts, after its first cause."""
    names: dict[tuple[str, ...], str] = {}
    for cause in causes:
        hosts = tuple(cause.hosts)
        if len(hosts) > 1 and hosts not in names and all(map(_is_plain, hosts)):
            name, taken = cause.name, set(names.values())
            free = (f"{folders.HOSTS}/{name}{f'-{n}' if n > 1 else ''}.txt" for n in range(1, len(names) + 2))
            names[hosts] = next(path for path in free if path not in taken)
    return names


def _is_plain(host: str) -> bool:
    return host.isprintable()


def _next(cause: Cause, playbook: PlaybookRecord, base: Path, named: str | None) -> Step | None:
    row = cause.rows[0]
    if not cause.curable:
        return None
    if row.verdict and row.job and row.verdict.evidence and not row.verdict.findings:
        return Step(f"rekindle judge {shlex.quote(fold_line(str(base / row.host / row.job)))}", "")
    typed = playbook.typed.get(row.host)
    if typed is None:
        return None
    words, results = list(typed.words), typed.results
    if not is_joint_stage(playbook.asked.get(row.host)):  # which needs all of its hosts
        limit = f"@{results}/{named}" if named else ",".join(cause.hosts)
        words = [*_without_limit(words), "--limit", limit]
    if not any(_RESULTS in word for word in words):
        words += ["-e", f"{_RESULTS}={results}"]
    return Step(fold_line(shlex.join(words)), typed.folder)


def _without_limit(words: Iterable[str]) -> list[str]:
    kept: list[str] = []
    drop = False
    for word in words:
        option = _LIMIT.fullmatch(word)
        attached = re.match(r"-l.", word)
        if not (drop or option or attached):
            kept.append(word)
        drop = bool(option and not option[2])
    return kept
