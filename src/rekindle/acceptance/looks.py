# SPDX-License-Identifier: Apache-2.0
"""The outcome of several looks at a figure, and who else used the host meanwhile."""

import json
import sys
from typing import Literal, NamedTuple

from rekindle.records import AcceptanceRecord, Measurement, RecordError
from rekindle.records.acceptance import GpuUse
from rekindle.records.base import convert_builtins
from rekindle.records.text import shorten_text

from .catalogue import load_measures
from .evaluation import evaluate_figures

LATER = 3
"""Looks after the first at a figure that stays worse than it should be."""
_BUSY_MB_S = 100.0
"""PCIe throughput that is reported: an idle GPU has about 1."""
_BUSY_PERCENT = 5.0


class LookOutcome(NamedTuple):
    """Of all looks at one figure, at least one of them worse than it should be."""

    verdict: Literal["FAIL", "UNPROVEN"] | None
    """None: it is noted, and changes nothing."""
    message: str
    """Ends the sentence on the figure; empty where there was one look alone."""


def find_outcome(measurement: Measurement) -> LookOutcome | None:
    """Return the outcome of all looks at an evaluated figure; None if none is worse than it should be.

    A figure that varies fails only if every look is worse. It is noted if one alone was, or the first two,
    between which nobody waited, and no look is due any more; else it is unsteady. Others fail by any look.
    """
    if measurement.name not in load_measures():
        return None
    holds = _holds(measurement)
    bad = holds.count(False)
    if not bad:
        return None
    if bad == len(holds) or not load_measures()[measurement.name].varies:
        return LookOutcome("FAIL", f", in all {bad} looks" if bad == len(holds) > 1 else "")
    if bad == 1 and (holds[-1] is not False or len(holds) > LATER):
        return LookOutcome(None, f", in one of {len(holds)} looks alone")
    if bad == 2 and holds[:2] == [False, False]:
        return LookOutcome(None, f", in the first two of {len(holds)} looks, one right after the other")
    return LookOutcome("UNPROVEN", f", in {bad} of {len(holds)} looks: it is unsteady")


def find_doubtful(record: AcceptanceRecord) -> frozenset[tuple[str, str | None]]:
    """Return the figures that neighbours may have slowed and that have one look, by name and GPU.

    None stands for all GPUs of the host together.
    """
    known = (figure for figure in record.measurements if figure.name in load_measures() and not figure.again)
    shared = [figure for figure in known if load_measures()[figure.name].shared]
    return frozenset((figure.name, uuid) for figure in shared for uuid in (figure.gpu, None))


def list_doubtful(host_record: object) -> frozenset[str]:
    """Return the names of what a host is to measure again: of some GPU, the newest look is worse.

    Empty where an error or a wrong result decides already, or where the JSON is not a valid record.
    """
    try:
        record = evaluate_figures(convert_builtins(host_record, AcceptanceRecord))
    except RecordError:
        return frozenset()
    worse = [figure for figure in record.measurements if False in _holds(figure)]
    if any(load_measures()[figure.name].gates for figure in worse):
        return frozenset()
    still = (figure.name for figure in worse if _holds(figure)[-1] is False)
    return frozenset(name for name in still if load_measures()[name].varies)


def _holds(figure: Measurement) -> list[bool | None]:
    return [figure.holds, *(again.holds for again in figure.again)]


def describe_neighbours(record: AcceptanceRecord) -> dict[str | None, str]:
    """Return a sentence on who else used each GPU and the host in all looks; None stands for any GPU."""
    if len(record.looks) < 2:
        return {}
    by_gpu: dict[str | None, list[GpuUse]] = {None: []}
    for use in (use for look in record.looks for use in (*look.before, *look.after)):
        by_gpu.setdefault(use.gpu, []).append(use)
        by_gpu[None].append(use)
    busiest = max(record.looks, key=lambda look: look.load)
    load = f"the host's load was {busiest.load:.1f} on {busiest.cpus} CPUs"
    return {uuid: f" Others meanwhile: {_seen(uses)}; {load}." for uuid, uses in by_gpu.items()}


def _seen(uses: list[GpuUse]) -> str:
    processes = {process.pid: process for use in uses for process in use.processes}
    found = [
        f"{shorten_text(process.name, 100)} (pid {process.pid}"
        + (")" if process.memory_mib is None else f", {process.memory_mib} MiB)")
        for process in processes.values()
    ]
    rates = [rate for use in uses for rate in (use.pcie_received_mb_s, use.pcie_sent_mb_s) if rate]
    if (rate := max(rates, default=0.0)) >= _BUSY_MB_S:
        found.append(f"{rate / 1e3:.1f} GB/s over PCIe")
    if (share := max((use.utilisation or 0.0 for use in uses), default=0.0)) > _BUSY_PERCENT:
        found.append(f"the GPU {share:.0f} % busy")
    return ", ".join(found) or "nothing was seen on the GPU"


def main() -> None:
    """Read an AcceptanceRecord from standard input, and print as JSON what a host is to measure again."""
    print(json.dumps(sorted(list_doubtful(json.load(sys.stdin)))))


if __name__ == "__main__":
    main()
