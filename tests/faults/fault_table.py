# SPDX-License-Identifier: Apache-2.0
"""The table of faults: what was injected, what came of it, and the figures of all together."""

import json
from dataclasses import asdict, dataclass
from statistics import median

NVFLARE_S = 300
"""NVFlare's own limits for a silent trainer and a missing result, by default."""


@dataclass(frozen=True)
class Row:
    """One fault or clean run."""

    name: str
    kind: str
    """``run``: a fault was injected; ``clean``: nothing is wrong."""
    injected: bool
    expected: str
    verdict: str
    cause_right: bool
    cause: str
    seconds: float | None = None
    """From the fault to the verdict, of a run."""

    @property
    def detected(self):
        return self.verdict in self.expected.split("|")


def figures(rows):
    """Return the counts and times of all rows."""
    faults, clean = [row for row in rows if row.kind != "clean"], [row for row in rows if row.kind == "clean"]
    seconds = sorted(row.seconds for row in faults if row.seconds is not None)
    return {
        "faults": len(faults),
        "injected": sum(row.injected for row in faults),
        "detected": sum(row.detected for row in faults),
        "cause_right": sum(row.cause_right for row in faults),
        "false_pass": sum(row.verdict == "PASS" for row in faults),
        "clean": len(clean),
        "false_fail": sum(row.verdict != "PASS" for row in clean),
        "median_s": round(median(seconds), 1) if seconds else None,
        "worst_s": seconds[-1] if seconds else None,
        "nvflare_s": NVFLARE_S,
    }


def show(rows):
    """Return the table as text."""
    width = max(len(row.name) for row in rows)
    lines = [f"{'fault':{width}}  injected  detected          cause  seconds  cause found"]
    for row in rows:
        seconds = "–" if row.seconds is None else f"{row.seconds:.1f}"
        verdict = f"{_sign(row.detected)} {row.verdict}"
        cause = row.cause if len(row.cause) <= 90 else f"{row.cause[:89]}…"
        lines.append(
            f"{row.name:{width}}  {_sign(row.injected):8}  {verdict:16}  {_sign(row.cause_right):5}  "
            f"{seconds:>7}  {cause}"
        )
    of = figures(rows)
    lines += [
        "",
        f"{of['faults']} faults: {of['injected']} injected, {of['detected']} detected, "
        f"{of['cause_right']} causes named right, {of['false_pass']} false PASS; "
        f"{of['clean']} clean runs: {of['false_fail']} false FAIL",
    ]
    if of["median_s"] is not None:
        lines.append(
            f"seconds from fault to verdict: median {of['median_s']}, worst {of['worst_s']}; "
            f"NVFlare's own limit {NVFLARE_S}"
        )
    return "\n".join(lines) + "\n"


def write(rows, path):
    """Write rows and figures as JSON."""
    path.parent.mkdir(exist_ok=True)
    record = {"figures": figures(rows), "rows": [{**asdict(row), "detected": row.detected} for row in rows]}
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _sign(holds):
    return "yes" if holds else "NO"
