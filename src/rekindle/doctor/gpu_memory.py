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

_TORCH = re.compile(r"Process (?P<pid>\d{1,8}) has (?P<held>[\d.]{1,12} [GMK]iB) memory in use")
_OWN = re.compile(r"this process has (?P<held>[\d.]{1,12} [GMK]iB) memory in use")
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
    holders = list(_holders(run_dir, spec, logs))
    told = dict.fromkeys(told for told, _ in holders)
    held = " It is held by " + "; ".join(told) + "." if told else _UNKNOWN
    if any(foreign for _, foreign in holders):
        finding = replace(finding, layer="host", remedy=_ANOTHERS)
    return replace(finding, cause=finding.cause + held)


def _holders(run_dir: Path | None, spec: RunSpec | None, logs: list[Text]) -> Iterator[tuple[str, bool]]:
    """Yield who holds how much, and whether that is no process of the run.

    By torch's message, samples and nvidia-smi, or TensorFlow's log, in turn.
    """
    events = [line.event for line in read_lines(run_dir)] if run_dir else []
    tables = [log.raw for log in logs if log.file.endswith("processes.txt")]
    names = _names(spec, tables, events)
    shown = {int(match["pid"]): match["name"] for log in logs for match in _SMI.finditer(log.raw)}
    known = bool(tables or any(isinstance(event, SampleEvent) and event.worked for event in events))

    def name(pid: int) -> tuple[str, bool]:
        anothers = known and pid not in names
        who = [names.get(pid) or shown.get(pid, ""), "no process of the run" if anothers else ""]
        told = ", ".join(filter(None, who))
        return f"process {pid} ({told})" if told else f"process {pid}", anothers or _BEFORE in told

    messages = [event.message for event in events if isinstance(event, ExceptionEvent)]
    messages += [log.body for log in logs]
    others = [match for text in messages for match in _TORCH.finditer(text)]
    for match in others:
        who, foreign = name(int(match["pid"]))
        yield f"{who}: {match['held']}", foreign
    own = [match for text in messages for match in _OWN.finditer(text)]
    yield from ((f"the trainer itself: {match['held']}", False) for match in own)
    held: dict[int, int] = {}
    for pid, mib in _sampled(events, logs) if not (others or own) else ():
        held[pid] = max(mib, held.get(pid, 0))
    for pid, mib in sorted(held.items(), key=lambda pair: -pair[1]):
        who, foreign = name(pid)
        yield f"{who}: {mib} MiB", foreign
    first = next((match for log in logs for match in _TENSORFLOW.finditer(log.raw)), None)
    if first and not (others or own or held):
        yield f"process {first['pid']} (NVFlare's own, no trainer): {first['held']} MB", False


def _sampled(events: Iterable[AnyEvent], logs: list[Text]) -> Iterator[tuple[int, int]]:
    for event in events:
        if isinstance(event, SampleEvent):
            for gpu in event.gpus.values():
                yield from ((int(pid), mib) for pid, mib in gpu.processes.items())
    for log in logs:
        yield from ((int(match["pid"]), int(match["held"])) for match in _SMI.finditer(log.raw))


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
