# SPDX-License-Identifier: Apache-2.0
"""The small records that stages leave in a host's folder of results; ``host.folders`` names them."""

from typing import Any, Literal

from .action import Action
from .base import Few, FileName, Integer, Many, Record, Seconds, Table, Text, Timestamp
from .complaint import Complaint
from .run import RunSpec


class LeaseRecord(Record, kw_only=True, frozen=True):
    """When a host's lease ends for one playbook."""

    schema: Literal["rekindle/lease/1"] = "rekindle/lease/1"
    host: Text
    started: Timestamp
    """When the playbook started, from which a budget counts."""
    ends: Timestamp | None


class Environment(Record, kw_only=True, frozen=True):
    """One environment on the host."""

    framework: Text
    path: Text
    python: Text
    python_version: Text
    lock: FileName
    lock_sha256: Text
    built: Timestamp
    build_s: Seconds
    packages: Table[Text]
    probe: Table[Any]
    """``build`` (its own description), ``gpus`` (with the error of a product on each), ``collective``;
    for TensorFlow also ``cross_device_ops``, which its jobs have to use."""
    system_site: Table[Text] = {}
    """Distributions that the host's own Python lends to it."""


class EnvRecord(Record, kw_only=True, frozen=True):
    """All environments of one host."""

    schema: Literal["rekindle/env/1"] = "rekindle/env/1"
    host: Text
    environments: Few[Environment]


class StandingRecord(Record, kw_only=True, frozen=True):
    """Environments that need not be built."""

    schema: Literal["rekindle/standing/1"] = "rekindle/standing/1"
    host: Text
    standing: Few[Text]
    """Names of complete ones: ``driver``, and frameworks."""
    wheels_mb: Integer | None
    """Of the others' wheels, to be brought from a wheelhouse; None if the host fetches them itself."""
    fetch_mb: Integer | None = None
    """Of the others' files, to be fetched from an index; None from a wheelhouse, or if unknown."""


class Image(Record, kw_only=True, frozen=True):
    """An image that a job names."""

    name: Text
    id: Text | None = None
    """Digest of its configuration, the engine's identifier; None if it could not be obtained."""
    message: Text | None = None
    fix: Text | None = None


class ImagesRecord(Record, kw_only=True, frozen=True):
    """The state of each image of a plan."""

    schema: Literal["rekindle/images/1"] = "rekindle/images/1"
    host: Text
    images: Few[Image]


class PayloadRecord(Record, kw_only=True, frozen=True):
    """Rekindle's own code and the jobs, as they are on a host."""

    schema: Literal["rekindle/payload/1"] = "rekindle/payload/1"
    host: Text
    path: Text


class PlacedRecord(Record, kw_only=True, frozen=True):
    """A job that runs on a host, or has run there; one that cannot has its verdict instead."""

    schema: Literal["rekindle/placed/1"] = "rekindle/placed/1"
    run: Text
    """Its folder on the host, named by what is run."""
    payload: Text
    """Path of the payload on the host."""
    spec: RunSpec
    at: Timestamp
    """When, by the controller's clock."""
    kept: Timestamp | None = None
    """When the run was judged PASS, if it had passed before and was not run again."""


class Command(Record, kw_only=True, frozen=True):
    """The command that began a playbook, without secrets."""

    words: Few[Text]
    folder: Text
    """In which it was typed."""
    results: Text
    """Its results folder, from there on."""


class PlaybookRecord(Record, kw_only=True, frozen=True):
    """What the playbooks on one results folder set out to do."""

    schema: Literal["rekindle/run/1"] = "rekindle/run/1"
    run: Text
    started: Timestamp
    hosts: Many[Text]
    began: Table[Timestamp] = {}
    """Start of the latest playbook on each host, without ``--check``."""
    checked: Table[Timestamp] = {}
    """Start of the latest ``--check`` of each host on which no other playbook ran since."""
    asked: Table[Text] = {}
    """The last stage that it was to reach, by the host."""
    typed: Table[Command] = {}
    """What began the latest playbook on each host, without ``--check``."""

    @property
    def newest(self) -> Timestamp:
        """Start of the latest playbook, checks aside."""
        return max(self.began.values(), default=self.started)

    @property
    def latest(self) -> dict[str, Timestamp]:
        """Start of the latest playbook on each host, checks among them."""
        return {**self.began, **self.checked}


class Outcome(Record, kw_only=True, frozen=True):
    """Why a host left a playbook before its end."""

    schema: Literal["rekindle/outcome/1"] = "rekindle/outcome/1"
    host: Text
    stage: Text
    state: Literal["failed", "unreachable"]
    message: Text
    """A host's own words too, which have no fix of ours."""
    fix: Text = ""
    action: Action | None = None
    """The most severe that preflight's findings ask the host's operator for; None of other stages."""

    @property
    def complaint(self) -> Complaint:
        """All of it."""
        return Complaint(self.message, self.fix, self.action)


class LastProgress(Record, kw_only=True, frozen=True):
    """The last known progress of a job, or of other detached work, on a host."""

    schema: Literal["rekindle/seen/1"] = "rekindle/seen/1"
    what: Text
    message: Text
    at: Timestamp


class RetiredRecord(Record, kw_only=True, frozen=True):
    """The last copy of a host; it lies in retired/ beside this record."""

    schema: Literal["rekindle/retired/1"] = "rekindle/retired/1"
    host: Text
    retired: Timestamp | None = None
    """When nothing was left on the host; None while its removal is not complete."""
    environments: Few[Text] = ()
    """Locks of the environments that the capsule rebuilds."""
    runs: Table[Text] = {}
    """The controller's verdict on each run, by its folder; empty where it was not sent from there."""
    files: Integer = 0
    left: Table[Integer] = {}
    """Bytes of each file of a log or run that was not copied, such as a model."""
