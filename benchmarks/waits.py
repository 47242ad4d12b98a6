# SPDX-License-Identifier: Apache-2.0
"""Where a short run's time outside training can be saved: pt_ddp as it is, beside itself without what we cut.

    .venv/bin/python benchmarks/waits.py PYTHON

PYTHON is the torch environment's, as env.json has it. On CPU, three rounds, in turn, three times; medians.
Outside is what a run took beside its rounds. Bytecode is kept in a folder of the benchmark's own, or nowhere,
as where PYTHONDONTWRITEBYTECODE is set; the environment's own is not read.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from jobs import REPOSITORY, ROUNDS, timed

REPEATS = 3
_HOOK = "import rekindle.trainer.hook\nrekindle.trainer.hook.install_hook()\n"
_NVFLARES = """import rekindle.trainer.waits as waits
for name in ("hasten_server", "hasten_client", "hasten_pipes", "hasten_looks", "hasten_end"):
    setattr(waits, name, lambda *arguments: None)
"""
CUT, WITHOUT = "load(args.dataset, args.data_path)", 'load(args.dataset, __import__("tempfile").mkdtemp())'
"""In client.py: scikit-learn is imported once, or in every rank."""
CASES = {
    "no bytecode, NVFlare's own": (False, False),
    "bytecode, NVFlare's own": (True, False),
    "as it is": (True, True),
}
"""Whether bytecode is kept, and whether waits are cut."""


def outside(python: str, bytecode: Path, *, kept: bool, cut: bool) -> float:
    """Run pt_ddp once; returns the seconds beside its rounds."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(shutil.copytree(REPOSITORY / "flare_jobs" / "pt_ddp", Path(folder, "job")))
        client = (work / "client.py").read_text(encoding="utf-8")
        if CUT not in client:
            raise SystemExit(f"client.py has no {CUT!r}. Fix: bring benchmarks/waits.py up to date.")
        (work / "client.py").write_text(client if cut else client.replace(CUT, WITHOUT), encoding="utf-8")
        hook = Path(folder, "hook")
        hook.mkdir()
        (hook / "sitecustomize.py").write_text(_HOOK if cut else _NVFLARES + _HOOK, encoding="utf-8")
        command = [python, "job.py", "--num_rounds", str(ROUNDS), "--local_epoch", "1"]
        variables = {
            "CUDA_VISIBLE_DEVICES": "",
            "TMPDIR": folder,
            "PYTHONPATH": f"{hook}:{REPOSITORY / 'src'}",
            "REKINDLE_WORKSPACE": str(work / "workspace"),
            "PYTHONPYCACHEPREFIX": str(bytecode if kept else Path(folder, "empty")),
            "PYTHONDONTWRITEBYTECODE": "" if kept else "1",
        }
        return timed(command, work, work / "evidence", variables).outside_s


def main() -> None:
    """Print one table."""
    python = sys.argv[1]
    seconds: dict[str, list[float]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as bytecode:
        first = outside(python, Path(bytecode), kept=True, cut=True)
        for _ in range(REPEATS):
            for name, (kept, cut) in CASES.items():
                seconds[name].append(outside(python, Path(bytecode), kept=kept, cut=cut))
    before = median(next(iter(seconds.values())))
    print(f"{'outside training':28}{'s':>6}{'range':>14}{'ratio':>7}")
    for name, every in seconds.items():
        spread = f"{min(every):.1f}–{max(every):.1f}"
        print(f"{name:28}{median(every):6.1f}{spread:>14}{median(every) / before:7.2f}")
    print(f"{'as it is, the first run':28}{first:6.1f}{'':14}{first / before:7.2f}")


if __name__ == "__main__":
    main()
