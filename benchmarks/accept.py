# SPDX-License-Identifier: Apache-2.0
"""Seconds that acceptance takes of a host, by number of GPUs.

    python benchmarks/accept.py           # any Python with torch, on a host with GPUs; nothing else needs it

The job in flare_jobs/acceptance runs completely on 1, 2, 4 … and all GPUs, in turn, three times; medians,
and the very first run, in which torch may have come from a cold disk. Nobody else should be on the GPUs.
CUDA_VISIBLE_DEVICES, with indexes or UUIDs, keeps to some of them.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median

JOB = Path(__file__).parents[1] / "flare_jobs" / "acceptance"
REPEATS = 3
_PART = re.compile(r"(\w+): ([\d.]+) s")


def gpus() -> list[str]:
    """Return the UUIDs of the GPUs to run on."""
    words = ["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        raise SystemExit("nvidia-smi is not here. Fix: run this on a host with GPUs.") from None
    except subprocess.TimeoutExpired:
        raise SystemExit("nvidia-smi did not end within 60 s. Fix: restart the host.") from None
    uuid_of = dict(re.findall(r"^(\d+), (GPU-\S+)$", done.stdout, re.MULTILINE))
    if done.returncode != 0 or not uuid_of:
        text = " ".join((done.stdout + done.stderr).split())[:300] or "nothing"
        raise SystemExit(f"nvidia-smi shows no GPU, and prints: {text}. Fix: run this on a host with GPUs.")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return [*uuid_of.values()]
    uuids = [uuid_of.get(name.strip(), name.strip()) for name in visible.split(",")]
    if strange := [uuid for uuid in uuids if uuid not in uuid_of.values()]:
        raise SystemExit(
            f"CUDA_VISIBLE_DEVICES names {strange[0]!r}, which nvidia-smi does not show. Fix: unset it."
        )
    return uuids


def counts(most: int) -> list[int]:
    """Return 1, 2, 4 … and ``most``."""
    return sorted({1 << power for power in range(most.bit_length())} | {most})


def measure(uuids: list[str]) -> dict[str, float]:
    """Run the job once; return the seconds of the process and of each part that it reports."""
    with tempfile.TemporaryDirectory() as folder:
        evidence = Path(folder, "evidence")
        evidence.mkdir()
        Path(folder, "spec.json").write_text(json.dumps({"host": "here"}))
        words = ["--gpu", f"[{','.join(uuids)}]"]
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "job.py", *words],
            cwd=JOB,
            env={**os.environ, "REKINDLE_EVIDENCE": str(evidence)},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        if done.returncode != 0 or not (evidence / "acceptance.jsonl").exists():
            output = (done.stdout + done.stderr)[-3000:]
            raise SystemExit(
                f"Acceptance of {len(uuids)} GPUs ended with status {done.returncode}:\n{output}"
            )
    return {"process": seconds, **{name: float(part) for name, part in _PART.findall(done.stdout)}}


def row(name: str, times: list[dict[str, float]], parts: list[str]) -> str:
    """Return medians as a row, with the rest of the process beside its parts."""
    rest = [run["process"] - sum(run.get(part, 0.0) for part in parts) for run in times]
    cells = [median(run["process"] for run in times), median(rest)]
    cells += [median(run.get(part, 0.0) for run in times) for part in parts]
    return f"| {name} | {' | '.join(f'{seconds:.1f}' for seconds in cells)} |"


def main() -> None:
    """Print one table."""
    uuids = gpus()
    if find_spec("torch") is None:
        raise SystemExit(f"{sys.executable} has no torch. Fix: run this by the Python of an environment.")
    first = measure(uuids[:1])
    times: dict[int, list[dict[str, float]]] = {count: [] for count in counts(len(uuids))}
    for _ in range(REPEATS):
        for count, runs in times.items():
            runs.append(measure(uuids[:count]))
    parts = list(dict.fromkeys(part for runs in times.values() for run in runs for part in run))[1:]
    print(f"| GPUs | s, the complete process | start, nvidia-smi | {' | '.join(parts)} |")
    print("|---" * (len(parts) + 3) + "|")
    print(row("1, the first time", [first], parts))
    for count, runs in times.items():
        print(row(str(count), runs, parts))


if __name__ == "__main__":
    main()
