"""``results.json``: hosts and rows, for programs."""

from __future__ import annotations

from typing import Any

from rekindle.records import to_builtins
from rekindle.results.gather import HostResults, Results, Row


def data(results: Results) -> dict[str, Any]:
    """Return the results as builtins, schema ``rekindle/results/1``."""
    return {
        "schema": "rekindle/results/1",
        "run": results.playbook.run,
        "started": results.playbook.started,
        "passed": results.passed,
        "hosts": [_host(host) for host in results.hosts],
        "rows": [_row(row) for row in results.rows],
    }


def _host(results: HostResults) -> dict[str, Any]:
    host = results.host
    return {
        "host": results.name,
        "os": host.os.name if host else None,
        "driver": host.driver.version if host and host.driver else None,
        "gpus": [
            {"index": gpu.index, "name": gpu.name, "uuid": gpu.uuid, "state": gpu.state}
            for gpu in (host.gpus if host else ())
        ],
        "outcome": to_builtins(results.outcome) if results.outcome else None,
    }


def _row(row: Row) -> dict[str, Any]:
    verdict = row.verdict
    return {
        "host": row.host,
        "job": row.job,
        "verdict": row.kind,
        "host_says": verdict.host_says if verdict else None,
        "cause": row.cause,
        "notice": row.notice,
        "remedy": verdict.remedy if verdict else None,
        "layer": verdict.layer if verdict else None,
        "started": verdict.started if verdict else None,
        "duration_s": row.duration_s,
        "gpus": sorted({device.uuid for device in verdict.devices if device.uuid}) if verdict else [],
        "metrics": verdict.final_metrics if verdict else {},
        "versions": verdict.versions if verdict else {},
        "lock_sha256": verdict.lock_sha256 if verdict else None,
    }
