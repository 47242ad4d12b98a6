# SPDX-License-Identifier: Apache-2.0
"""Rewrite benchmarks/faults.md from results/faults.json, which `make faults` leaves.

.venv/bin/python scripts/write_faults.py
"""

import json
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]


def table(record: dict[str, Any]) -> str:
    """Return the report of the fault suite as Markdown."""
    of = record["figures"]
    lines = [
        "# The fault suite",
        "",
        "`make faults` makes this table: each fault is put into a real run on CPU, and has the verdict and",
        "the cause (a regular expression) that it must have in `tests/faults/`. Damage to recorded runs is",
        "in `tests/unit/judge/test_broken_runs.py` and `tests/mutations/`.",
        "",
        f"Faults: {of['faults']}. Injected: {of['injected']}. Detected: {of['detected']}. Cause named right: "
        f"{of['cause_right']}. False PASS: {of['false_pass']}.",
        f"Clean runs: {of['clean']}. False FAIL: {of['false_fail']}.",
        "",
        "| seconds from fault to verdict | |",
        "|---|---|",
        f"| median | {of['median_s']} |",
        f"| worst | {of['worst_s']} |",
        f"| NVFlare's own limit | {of['nvflare_s']} |",
        "",
        "| fault | verdict | cause named | seconds |",
        "|---|---|---|---|",
    ]
    for row in (row for row in record["rows"] if row["kind"] == "run"):
        verdict = row["verdict"] if row["detected"] else f"{row['verdict']}, not {row['expected']}"
        cause = "yes" if row["cause_right"] else "no"
        lines.append(f"| {row['name']} | {verdict} | {cause} | {row['seconds'] or '–'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = (REPOSITORY / "results" / "faults.json").read_text(encoding="utf-8")
    (REPOSITORY / "benchmarks" / "faults.md").write_text(table(json.loads(text)), encoding="utf-8")
