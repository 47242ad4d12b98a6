"""``rekindle plan HOST.json``: the solver on any machine, from a host record alone."""

from __future__ import annotations

import hashlib
import sys
from datetime import datetime, timezone
from pathlib import Path

from rekindle.records import HostRecord, PlannedEnvironment, RecordError, read
from rekindle.records.plan import FRAMEWORKS
from rekindle.report import text

from .plan import solve


def run(path: Path, framework: str | None, as_json: bool) -> int:
    """Print the plan for the host record at ``path``; 0 a plan, 3 a refusal among them, 2 bad input.

    A host that shows no trace of a GPU gets the CPU builds.
    """
    if framework is not None and framework not in FRAMEWORKS:
        print(f"{framework} is no framework. Fix: {', '.join(FRAMEWORKS)}.", file=sys.stderr)
        return 2
    try:
        host = read(path, HostRecord)
    except RecordError as error:
        print(text.one_line(str(error)), file=sys.stderr)
        return 2
    wanted = (framework,) if framework else FRAMEWORKS
    plan = solve(
        host,
        wanted,
        gpus_required=bool(host.gpus or host.pci_gpus),
        made=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        host_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )
    if as_json:
        print(text.as_json(plan))
    else:
        print("\n".join(text.printed(line) for one in plan.environments for line in _lines(one)))
    return 0 if all(one.build for one in plan.environments) else 3


def _lines(environment: PlannedEnvironment) -> list[str]:
    build = environment.build
    if build is None:
        return [f"{environment.framework}: refused", f"  {environment.refusal}"]
    cuda = f"CUDA {build.cuda}" if build.cuda else "CPU"
    lines = [
        f"{environment.framework}: {build.version} ({cuda}), Python {build.python_version}, {build.lock}"
    ]
    lines += [f"  {reason.axis}: {reason.says}" for reason in environment.reasons]
    return lines + [f"  warning: {warning}" for warning in environment.warnings]
