"""``rekindle plan HOST.json``: the solver on any machine, from a host record alone."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from rekindle.records import HostRecord, PlannedEnvironment, read, timestamp
from rekindle.records.plan import FRAMEWORKS
from rekindle.records.text import as_json, printed
from rekindle.solver import solve

HELP = "decide from a host.json which builds go on that host"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's own."""
    parser.add_argument("host", type=Path, metavar="HOST.json")
    parser.add_argument("--framework", choices=FRAMEWORKS)
    parser.add_argument("--json", action="store_true")


def run(args: argparse.Namespace) -> int:
    """Print the plan for the host record; 0 a plan, 3 a refusal among them.

    A host that shows no trace of a GPU gets the CPU builds.

    Raises:
        RecordError: the file is no host.json.
    """
    host = read(args.host, HostRecord)
    wanted = (args.framework,) if args.framework else FRAMEWORKS
    plan = solve(
        host,
        wanted,
        gpus_required=bool(host.gpus or host.pci_gpus),
        made=timestamp(),
        host_sha256=hashlib.sha256(args.host.read_bytes()).hexdigest(),
    )
    if args.json:
        print(as_json(plan))
    else:
        print("\n".join(printed(line) for one in plan.environments for line in _lines(one)))
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
