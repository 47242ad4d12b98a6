# SPDX-License-Identifier: Apache-2.0
"""Who holds the memory of a full GPU: the server, a site, a stranger, or the trainer."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from rekindle.flare.processes import find_client
from rekindle.records import Finding, RunSpec
from rekindle.records.events import AnyEvent, DeviceEvent, ExceptionEvent, SampleEvent
from rekindle.records.evidence import read_lines

from .texts import Text

_TORCH = re.compile(
    r"(?:Process (?P<pid>\d{1,8})|\bthis process) has (?P<held>[\d.]{1,12} [GMK]iB) memory in use"
)
_SMI = re.compile(
    r"^\|\s{1,8}\d{1,3}\s{1,8}\S{1,8}\s{1,8}\S{1,8}\s{1,20}(?P<pid>\d{1,8})\s{1,8}[CGM+]{1,3}\s{1,4}"
    r"(?P<name>[^|\n]{0,80}?)\s{1,80}(?P<held>\d{1,9})MiB \|",
    re.MULTILINE,
)
_TENSORFLOW = re.compile(
    r"^I\d{4} [\d:.]{1,40} {1,8}(?P<pid>\d{1,8}) gpu_device\.cc[^\n]{0,200}"
    r"device:GPU:\d{1,3} with (?P<held>\d{1,9}) MB",
    re.MULTILINE,
)
"""Searched in the raw text: only a trainer's output has a logger's prefix."""
_PROCESS = re.compile(
    r"^(?P<pid>\d{1,8}) of \d{1,8} [^\n]{0,120}? MiB (?P<command>[^\n]{0,1000})", re.MULTILINE
)
_BEFORE = "there before the run"
_ANOTHERS = "End that process, or have its owner end it (nvidia-smi): a run needs all of its GPUs' memory."
_UNKNOWN = " These files do not show who holds it."


def name_holder(finding: Finding, run_dir: Path | None, spec: RunSpec | None, logs: list[Text]) -> Finding:
    """Return ``finding``; one on a full GPU with who holds its memory: another's process is the host's."""
    if finding.name != "gpu_memory_taken":
        return finding
    holders = dict(_find_holders(run_dir, spec, logs))
    held = " It is held by " + "; ".join(holders) + "." if holders else _UNKNOWN
    if any(holders.values()):
        finding = replace(finding, layer="host", remedy=_ANOTHERS)
    return replace(finding, cause=finding.cause + held)


def _find_holders(run_dir: Path | None, spec: RunSpec | None, logs: list[Text]) -> Iterator[tuple[str, bool]]:
    """Yield who holds how much, and whether that is no process of the run.

    By torch's message; else by samples and nvidia-smi; else by TensorFlow's log.
    """
    events = [line.event for line in read_lines(run_dir)] if run_dir else []
    tables = [log.raw for log in logs if log.file.endswith("processes.txt")]
    names = _names(spec, tables, events)
    known = bool(tables or any(isinstance(event, SampleEvent) and event.worked for event in events))
    shown = [match for log in logs for match in _SMI.finditer(log.raw)]
    programs = {int(match["pid"]): match["name"] for match in shown}
    messages = [event.message for event in events if isinstance(event, ExceptionEvent)]
    messages += [log.body for log in logs]
    told = [match for text in messages for match in _TORCH.finditer(text)]
    sampled = [
        (int(pid), mib)
        for event in events
        if isinstance(event, SampleEvent)
        for gpu in event.gpus.values()
        for pid, mib in gpu.processes.items()
    ]
    sampled += [(int(match["pid"]), int(match["held"])) for match in shown]
    most: dict[int, str] = {}
    for pid, mib in sorted(sampled, key=lambda pair: -pair[1]):
        most.setdefault(pid, f"{mib} MiB")
    held = [(int(match["pid"] or 0), match["held"]) for match in told] or [*most.items()]
    first = next((match for log in logs for match in _TENSORFLOW.finditer(log.raw)), None)
    if first and not held:
        yield f"process {first['pid']} (NVFlare's own, no trainer): {first['held']} MB", False
    for pid, memory in held:
        anothers = bool(pid) and known and pid not in names
        who = [names.get(pid) or programs.get(pid, ""), "no process of the run" if anothers else ""]
        named = ", ".join(filter(None, who))
        process = f"process {pid}" + f" ({named})" * bool(named) if pid else "the trainer itself"
        yield f"{process}: {memory}", anothers or _BEFORE in named


def _names(spec: RunSpec | None, tables: list[str], events: Iterable[AnyEvent]) -> dict[int, str]:
    names: dict[int, str] = {}
    for event in events:
        for member, worked in event.worked.items() if isinstance(event, SampleEvent) else ():
            names.update(dict.fromkeys(worked.pids, f"of {member}"))
    for gpu in spec.gpus if spec else ():
        for process in gpu.processes:
            names[process.pid] = f"{process.name}, {_BEFORE}"
    for table in tables:
        for match in _PROCESS.finditer(table):
            names[int(match["pid"])] = _role(match["command"])
    for event in events:
        if isinstance(event, DeviceEvent):
            names[event.pid] = event.who
    return names


def _role(command: str) -> str:
    site = find_client(command)
    if site:
        return f"NVFlare's client of {site}"
    return "job.py, which runs NVFlare's server" if "job.py" in command else "of the run"
