"""What `shorten_waits` takes off a short run: pt_ddp as it is, beside itself with NVFlare's own waits.

    .venv/bin/python benchmarks/waits.py PYTHON

PYTHON is the torch environment's, as env.json has it. On CPU, three rounds, in turn, three times; medians.
Outside is what a run took beside its rounds.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from jobs import REPOSITORY, ROUNDS, timed

REPEATS = 3
LINE = "    shorten_waits(recipe, small_model=True)\n"


def outside(python: str, *, shortened: bool) -> float:
    """Run pt_ddp once; returns the seconds beside its rounds."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(shutil.copytree(REPOSITORY / "flare_jobs" / "pt_ddp", Path(folder, "job")))
        job = work / "job.py"
        text = job.read_text(encoding="utf-8")
        if LINE not in text:
            raise SystemExit(
                f"{job} has no {LINE.strip()!r} any more. Fix: bring benchmarks/waits.py up to date."
            )
        job.write_text(text if shortened else text.replace(LINE, ""), encoding="utf-8")
        command = [python, "job.py", "--num_rounds", str(ROUNDS), "--local_epoch", "1"]
        return timed(command, work, work / "evidence", {"CUDA_VISIBLE_DEVICES": ""}).outside_s


def main() -> None:
    """Print one table."""
    before, after = [], []
    for _ in range(REPEATS):
        before.append(outside(sys.argv[1], shortened=False))
        after.append(outside(sys.argv[1], shortened=True))
    print(f"NVFlare's own waits {median(before):6.1f} s\nshortened           {median(after):6.1f} s")
    print(f"ratio               {median(after) / median(before):6.2f}")


if __name__ == "__main__":
    main()
