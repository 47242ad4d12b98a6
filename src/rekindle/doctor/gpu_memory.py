"""Who holds the memory of a GPU that has none left: the server, a site, a stranger, or the trainer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rekindle.flare.processes import client_in
from rekindle.records import Finding, RunSpec
from rekindle.records.events import DeviceEvent, ExceptionEvent, SampleEvent
from rekindle.records.evidence import read_lines

from .texts import Text

_TORCH = re.compile(r"Process (?P<pid>\d{1,8}) has (?P<held>[\d.]{1,12} [GMK]iB) memory in use")
_OWN = re.compile(r"this process has (?P<held>[\d.]{1,12} [GMK]iB) memory in use")
_SMI = re.compile(
    r"^\|\s{1,8}\d{1,3}\s{1,8}\S{1,8}\s{1,8}\S{1,8}\s{1,20}(?P<pid>\d{1,8})\s{1,8}[CGM+]{1,3}\s[^|\n]{0,80}?"
    r"\s(?P<held>\d{1,9})MiB \|",
    re.MULTILINE,
)
_TENSORFLOW = re.compile(
    r"^I\d{4} [\d:.]{1,40} {1,8}(?P<pid>\d{1,8}) gpu_device\.cc[^\n]{0,200}"
    r"device:GPU:\d{1,3} with (?P<held>\d{1,9}) MB",
    re.MULTILINE,
)
"""Searched in the raw text: only a trainer's output stands behind a logger's prefix."""
_PROCESS = re.compile(
    r"^(?P<pid>\d{1,8}) of \d{1,8} [^\n]{0,120}? MiB (?P<command>[^\n]{0,1000})", re.MULTILINE
)
_UNTOLD = " Who holds it cannot be told from these files."


def name_holder(
    finding: Finding, run_dir: Path | None, spec: RunSpec | None, said: Iterable[Text]
) -> Finding:
    """Return ``finding``, with who holds the memory where it is about a GPU without any left."""
    if finding.name != "gpu_memory_taken":
        return finding
    said = list(said)
    holders = _holders(run_dir, spec, said)
    held = " It is held by " + "; ".join(dict.fromkeys(holders)) + "." if holders else _UNTOLD
    return msgspec.structs.replace(finding, cause=finding.cause + held)


def _holders(run_dir: Path | None, spec: RunSpec | None, said: list[Text]) -> list[str]:
    """Who holds how much: by torch's message, else by samples and nvidia-smi, else by TensorFlow's log."""
    events = [one.event for one in read_lines(run_dir)] if run_dir else []
    names = _names(spec, said)
    names.update((one.pid, f"{one.site} rank {one.rank}") for one in events if isinstance(one, DeviceEvent))
    stranger = "no process of the run" if any(text.file.endswith("processes.txt") for text in said) else ""

    def name(pid: int) -> str:
        who = names.get(pid, stranger)
        return f"process {pid} ({who})" if who else f"process {pid}"

    messages = [one.message for one in events if isinstance(one, ExceptionEvent)]
    messages += [text.body for text in said]
    told = [f"{name(int(one['pid']))}: {one['held']}" for text in messages for one in _TORCH.finditer(text)]
    told += [f"the trainer itself: {one['held']}" for text in messages for one in _OWN.finditer(text)]
    if told:
        return told
    held: dict[int, int] = {}
    gpus = (gpu for one in events if isinstance(one, SampleEvent) for gpu in one.gpus.values())
    seen = [(int(pid), mib) for gpu in gpus for pid, mib in gpu.processes.items()]
    seen += [(int(one["pid"]), int(one["held"])) for text in said for one in _SMI.finditer(text.raw)]
    for pid, mib in seen:
        held[pid] = max(mib, held.get(pid, 0))
    if held:
        return [f"{name(pid)}: {mib} MiB" for pid, mib in sorted(held.items(), key=lambda one: -one[1])]
    first = next((one for text in said for one in _TENSORFLOW.finditer(text.raw)), None)
    return [f"process {first['pid']} (NVFlare's own, no trainer): {first['held']} MB"] if first else []


def _names(spec: RunSpec | None, said: list[Text]) -> dict[int, str]:
    """Processes by PID: what was on the run's GPUs before it, and the run's own by their commands."""
    before = (process for gpu in (spec.gpus if spec else ()) for process in gpu.processes)
    names = {process.pid: f"{process.name}, there before the run" for process in before}
    for match in (
        one for text in said if text.file.endswith("processes.txt") for one in _PROCESS.finditer(text.raw)
    ):
        site = client_in(match["command"])
        if site:
            names[int(match["pid"])] = f"NVFlare's client of {site}"
        elif "job.py" in match["command"]:
            names[int(match["pid"])] = "job.py, which runs NVFlare's server"
        else:
            names[int(match["pid"])] = "of the run"
    return names
