# SPDX-License-Identifier: Apache-2.0
"""``results.json``: hosts and rows, for programs."""

from typing import Literal

import msgspec

from rekindle.records import Outcome
from rekindle.records.action import Action
from rekindle.results.causes import Cause, group_causes
from rekindle.results.contents import HostResults, Results, RunState
from rekindle.results.row import Row, RowKind


class GpuData(msgspec.Struct):
    """A GPU, as preflight saw it."""

    index: int | None
    name: str | None
    uuid: str | None
    state: str


class HostData(msgspec.Struct):
    """A host; None for what is unknown."""

    host: str
    os: str | None
    driver: str | None
    engines: list[str]
    """Container engines with their versions: ``Podman 4.3.1``."""
    gpus: list[GpuData]
    outcome: Outcome | None


class RowData(msgspec.Struct):
    """One job on one host, or the host itself (``job`` is None)."""

    host: str
    job: str | None
    verdict: RowKind
    cause: str | None
    notice: str | None
    remedy: str | None
    action: Action | None
    """What acceptance or preflight asks the host's operator for."""
    layer: str | None
    started: str | None
    kept: str | None
    duration_s: float | None
    gpus: list[str]
    metrics: dict[str, float]
    versions: dict[str, str]
    lock_sha256: str | None


class CauseData(msgspec.Struct):
    """Rows that failed alike."""

    name: str
    """The same in each run: ``fail-the-nvidia-driver-is-older-than``."""
    verdict: RowKind
    message: str
    """Of the first row."""
    remedy: str | None
    action: Action | None
    """What acceptance or preflight asks the hosts' operator for, the most severe."""
    layer: str | None
    required: bool
    hosts: list[str]
    jobs: list[str]


class ResultsData(msgspec.Struct):
    """What a results folder holds."""

    schema: Literal["rekindle/results/1"]
    run: str
    started: str
    passed: bool
    state: RunState
    causes: list[CauseData]
    """The worst and most frequent first."""
    hosts: list[HostData]
    rows: list[RowData]


def make_results_data(results: Results) -> ResultsData:
    """Return the results, schema ``rekindle/results/1``."""
    return ResultsData(
        schema="rekindle/results/1",
        run=results.playbook.run,
        started=results.playbook.started,
        passed=results.passed,
        state=results.state,
        causes=[_cause(cause) for cause in group_causes(results.rows)],
        hosts=[_host(host) for host in results.hosts],
        rows=[_row(row) for row in results.rows],
    )


def _cause(cause: Cause) -> CauseData:
    return CauseData(
        name=cause.name,
        verdict=cause.kind,
        message=cause.message,
        remedy=cause.remedy,
        action=cause.action,
        layer=cause.layer,
        required=cause.required,
        hosts=cause.hosts,
        jobs=cause.jobs,
    )


def _host(results: HostResults) -> HostData:
    host = results.host
    return HostData(
        host=results.name,
        os=host.os.name if host else None,
        driver=host.driver.version if host and host.driver else None,
        engines=[engine.title for engine in (host.engines if host else ())],
        gpus=[GpuData(gpu.index, gpu.name, gpu.uuid, gpu.state) for gpu in (host.gpus if host else ())],
        outcome=results.outcome,
    )


def _row(row: Row) -> RowData:
    verdict = row.verdict
    return RowData(
        host=row.host,
        job=row.job,
        verdict=row.kind,
        cause=row.cause,
        notice=str(row.notice) if row.notice else None,
        kept=row.kept,
        duration_s=row.duration_s,
        gpus=sorted({device.uuid for device in verdict.devices if device.uuid}) if verdict else [],
        metrics=verdict.final_metrics if verdict else {},
        versions=verdict.versions if verdict else {},
        remedy=verdict.remedy if verdict else None,
        action=row.action,
        layer=verdict.layer if verdict else None,
        started=verdict.started if verdict else None,
        lock_sha256=verdict.lock_sha256 if verdict else None,
    )
