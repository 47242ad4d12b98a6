"""``results.json``: the rows, for programs."""

from __future__ import annotations

from typing import Any

from .gather import Results


def data(results: Results) -> dict[str, Any]:
    """Return the results as builtins, schema ``rekindle/results/1``."""
    return {
        "schema": "rekindle/results/1",
        "run": results.run.run,
        "started": results.run.started,
        "passed": results.passed,
        "rows": [
            {
                "host": row.host,
                "job": row.job,
                "verdict": row.kind,
                "cause": row.cause,
                "remedy": row.verdict.remedy if row.verdict else None,
                "duration_s": row.verdict.duration_s if row.verdict else None,
                "gpus": sorted({device.uuid for device in row.verdict.devices if device.uuid})
                if row.verdict
                else [],
                "metrics": row.verdict.final_metrics if row.verdict else {},
            }
            for row in results.rows
        ],
    }
