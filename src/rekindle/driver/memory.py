"""Host memory of NVFlare's own processes, which hold the models between the trainers."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil

from .processes import descendants

_SIMULATOR = "nvflare.private.fed.app.simulator.simulator"
_CLIENT = f"{_SIMULATOR}_worker"


def peaks() -> dict[str, int]:
    """Return the most MiB that each has held so far: ``server``, and each client by its site's name."""
    found: dict[str, int] = {}
    for process in descendants():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError, ProcessLookupError):
            name = nvflare_name(process.cmdline())
            if name:
                found[name] = max(found.get(name, 0), _peak_mib(process.pid))
    return found


def nvflare_name(command: list[str]) -> str | None:
    """Return who a process of NVFlare's is: ``server``, or the client's site; None for any other."""
    if _CLIENT in command:
        return command[command.index("--client") + 1]
    return "server" if _SIMULATOR in command else None


def _peak_mib(pid: int) -> int:
    """Return VmHWM of proc(5); 0 for a process that has ended."""
    lines = Path("/proc", str(pid), "status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM:")), 0)
