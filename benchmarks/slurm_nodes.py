# SPDX-License-Identifier: Apache-2.0
"""Counts the cost of a run over 1 to 64 nodes of a SLURM allocation: steps, samples, files, driver's time.

    .venv/bin/python benchmarks/slurm_nodes.py

The nodes are simulated: a stand-in for srun starts each node's tasks on this machine under the node's name.
Driver, launcher and samplers are the real ones; a stand-in for torchrun writes the evidence of its ranks.
Counts are those of a real cluster; of times only the driver's own CPU and the judge's are reported, as all
samplers share this machine.
"""

import os
import runpy
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from rekindle.host import folders
from rekindle.host.archive import pack_run
from rekindle.host.payload import pack_payload, write_payload
from rekindle.judge import judge_run
from rekindle.records import Claim, Job, RunSpec, Site, write_record

REPOSITORY = Path(__file__).parents[1]
STAND_IN = runpy.run_path(str(REPOSITORY / "tests/stand_ins/slurm.py"))["stand_in"]
SIZES = (1, 2, 4, 8, 16, 32, 64)
RANKS = 8
"""Ranks of each of two sites on a node."""
WINDOW_S = 20.0
"""Time for which a run is measured once all of its nodes are up."""
LIMIT_S = 300.0
TORCHRUN = """
import os, pathlib, sys, time
options = dict(word[2:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("--"))
count, node = int(options["nproc-per-node"]), int(options.get("node-rank", 0))
from rekindle.trainer import Evidence
for rank in range(node * count, (node + 1) * count):
    Evidence(rank=rank).device("cpu", uuid=None, name=None, backend="gloo")
while not pathlib.Path(os.environ["REKINDLE_EVIDENCE"], "../go").exists():
    time.sleep(0.2)
"""
JOB = """
import os, subprocess, sys
ranks = os.environ["REKINDLE_RANKS"]
sites = []
for number in (0, 1):
    launcher = os.environ.get("REKINDLE_LAUNCHER", "rekindle.trainer.launch")
    words = ["-m", launcher, f"--site={number}", f"--ranks={ranks}", "client.py"]
    environ = {**os.environ, "REKINDLE_SITE": f"site-{number + 1}"}
    sites.append(subprocess.Popen([sys.executable, *words], env=environ))
sys.exit(max(site.wait() for site in sites))
"""


class Cost(NamedTuple):
    """What a run over so many nodes took."""

    nodes: int
    sruns: int
    samples: float
    """Lines a second, of all nodes."""
    sample_bytes: float
    """A second, of all nodes."""
    files: int
    driver_share: float
    """Of one core, the driver's own."""
    archive_kib: float
    judge_s: float


def measured(count: int, folder: Path) -> Cost:
    """Run over ``count`` nodes in ``folder``."""
    names = tuple(f"n{number}" for number in range(1, count + 1))
    run, fake = folder / "runs/toy-000000000000", folder / "torch/distributed"
    for path in (run / folders.EVIDENCE, run / folders.JOB, fake):
        path.mkdir(parents=True)
    (fake / "run.py").write_text(TORCHRUN)
    (run / folders.JOB / "job.py").write_text(JOB)
    write_record(run / folders.SPEC, _spec(run, names))
    payload = write_payload(pack_payload(REPOSITORY / "flare_jobs"), folder / "payload")
    environ = {
        **os.environ,
        **STAND_IN(folder / "slurm", names[0], names),
        "PYTHONPATH": f"{payload}:{folder}",
        "REKINDLE_RANKS": str(RANKS * count),
    }
    command = [sys.executable, "-m", "rekindle.driver", "supervise", str(run)]
    with (folder / "driver.log").open("wb") as log:
        driver = psutil.Popen(command, env=environ, stdout=log, stderr=log)
        try:
            _until(lambda: len(_samples(run)) == count and _ranks(run) == 2 * RANKS * count, driver)
            before, began = _lines(run), time.monotonic()
            cpu = sum(driver.cpu_times()[:2])
            time.sleep(WINDOW_S)
            seconds, after = time.monotonic() - began, _lines(run)
            cpu = sum(driver.cpu_times()[:2]) - cpu
            (run / "go").touch()
            _until(lambda: driver.poll() is not None, None)
        finally:
            with suppress(psutil.NoSuchProcess):
                driver.kill()
    calls = folder / "slurm/state/calls"
    files = sum(path.is_file() for path in run.rglob("*"))
    began = time.monotonic()
    judge_run(run)
    judged = time.monotonic() - began
    pack_run(run, folder / "packed")
    return Cost(
        nodes=count,
        sruns=len(calls.read_text().splitlines()) if calls.exists() else 0,
        samples=(after[0] - before[0]) / seconds,
        sample_bytes=(after[1] - before[1]) / seconds,
        files=files,
        driver_share=cpu / seconds,
        archive_kib=(folder / "packed").stat().st_size / 1024,
        judge_s=judged,
    )


def _spec(run: Path, names: tuple[str, ...]) -> RunSpec:
    sites = tuple(Site(name=f"site-{number}", ranks=RANKS * len(names), gpus=()) for number in (1, 2))
    job = Job(
        schema="rekindle/job/1",
        name="toy",
        summary="",
        environment="torch",
        sites=2,
        ranks_per_site=RANKS,
        rounds=1,
        when_short_of_gpus="share",
        limit_s=3600,
        proof=(Claim(claim="loss_falls"),),
    )
    return RunSpec(
        nonce="n0",
        host="h",
        job=job,
        sites=sites,
        python=sys.executable,
        lock_sha256="0" * 64,
        versions={},
        nodes=names if len(names) > 1 else (),
        tmpdir=str(run.parents[1] / "tmp"),
        silence_s=3600,
    )


def _samples(run: Path) -> list[Path]:
    return [path for path in run.glob(folders.ALL_SAMPLES) if path.stat().st_size]


def _ranks(run: Path) -> int:
    return len(list(run.glob(folders.EVENTS)))


def _lines(run: Path) -> tuple[int, int]:
    """Return how many samples there are, and their bytes."""
    texts = [path.read_bytes() for path in _samples(run)]
    return sum(text.count(b"\n") for text in texts), sum(map(len, texts))


def _until(holds: Callable[[], bool], driver: psutil.Popen | None) -> None:
    ends = time.monotonic() + LIMIT_S
    while not holds():
        if time.monotonic() > ends or (driver and driver.poll() is not None):
            raise SystemExit("The run did not come as far as it should. Fix: read its driver.log.")
        time.sleep(0.2)


def main() -> None:
    """Print the table of benchmarks/slurm.md."""
    columns = "nodes | srun | samples a second | KB a second | files | driver, of a core | archive | judge"
    print(f"| {columns} |\n|{'---|' * 8}")
    for count in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            cost = measured(count, Path(folder))
        sampled = f"{cost.samples:.1f} | {cost.sample_bytes / 1000:.1f}"
        own = f"{cost.driver_share:.0%} | {cost.archive_kib:.0f} KiB | {cost.judge_s:.2f} s"
        print(f"| {cost.nodes} | {cost.sruns} | {sampled} | {cost.files} | {own} |", flush=True)


if __name__ == "__main__":
    main()
