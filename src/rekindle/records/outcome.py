"""``run.json``, ``outcome.json`` and ``seen.json``: what playbooks are to do, and how far each host came."""

from __future__ import annotations

from typing import Literal

from .base import Many, Record, Table, Text, Timestamp


class PlaybookRecord(Record, kw_only=True, frozen=True):
    """What the playbooks on one results folder set out to do."""

    schema: Literal["rekindle/run/1"] = "rekindle/run/1"
    run: Text
    """Name of the results folder."""
    started: Timestamp
    hosts: Many[Text]
    began: Table[Timestamp] = {}
    """When the latest playbook on each host did start, by the host; one of ``--check`` does not count."""
    checked: Table[Timestamp] = {}
    """When it was checked, of each host that no other playbook ran on since."""
    asked: Table[Text] = {}
    """The last stage that it was to reach, by the host."""

    @property
    def latest(self) -> dict[str, Timestamp]:
        """When the latest playbook on each host did start, checks among them."""
        return {**self.began, **self.checked}


class Outcome(Record, kw_only=True, frozen=True):
    """Why a host left a playbook before its end."""

    schema: Literal["rekindle/outcome/1"] = "rekindle/outcome/1"
    host: Text
    stage: Text
    """Name of the role."""
    state: Literal["failed", "unreachable"]
    says: Text
    """One sentence, with its fix where we know one."""


class Seen(Record, kw_only=True, frozen=True):
    """How far a host was with a job, or another task that outlives its session, when it was last asked."""

    schema: Literal["rekindle/seen/1"] = "rekindle/seen/1"
    what: Text
    says: Text
    at: Timestamp
