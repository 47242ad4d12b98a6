# SPDX-License-Identifier: Apache-2.0
"""Training inside NVFlare beside the same training by itself, and over 1, 2, 4 and 8 GPUs, in one run.

    .venv/bin/python benchmarks/jobs.py torch=PYTHON transformers=PYTHON tensorflow=PYTHON

Each PYTHON is an environment's interpreter on this machine, as env.json has it; those left out are not timed.
One site trains on the first 1, 2, 4 and 8 GPUs at sizes that fill an H200, under NVFlare; on 2 GPUs then
again by the very command that NVFlare launched, without NVFlare. Samples a second are those of the rounds
after the first, median, over the ranks together; outside is what a run took beside its rounds.
"""

import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rekindle.flare.launch import find_trainers

REPOSITORY = Path(__file__).parents[1]
ROUNDS = 3
ALONE_ON = 2


@dataclass(frozen=True)
class Case:
    """A job, the environment that it runs in, and options that make its rounds long enough to time."""

    job: str
    environment: str
    options: str
    counts: tuple[int, ...]


CASES = (
    Case("pt_ddp", "torch", "--dataset generated --width 256 --batch_size 256 --local_epoch 3", (1, 2, 4, 8)),
    Case("llm_sft", "transformers", "--data_path {data} --batch_size 256 --local_epoch 2", (1, 2, 4, 8)),
    Case("tf_mirrored", "tensorflow", "--batch_size 64 --local_epoch 300", (2,)),
)


@dataclass(frozen=True)
class Timing:
    """What one run did."""

    samples_per_s: float
    outside_s: float


def main() -> None:
    """Print one table."""
    pythons = dict(argument.split("=", 1) for argument in sys.argv[1:])
    listed = subprocess.run(
        ["nvidia-smi", "-L"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    print(f"{'':14}{'GPUs':>5}{'samples/s':>11}{'of linear':>11}{'of plain':>10}{'outside, s':>12}")
    for case in (case for case in CASES if case.environment in pythons):
        first = 0.0
        for count in (count for count in case.counts if count <= len(listed)):
            with tempfile.TemporaryDirectory() as folder:
                work = Path(folder, case.job)
                inside = federated(case, pythons[case.environment], count, work)
                alone = f"{inside.samples_per_s / plain(work).samples_per_s:.3f}" if count == ALONE_ON else ""
            first = first or inside.samples_per_s / count
            share = inside.samples_per_s / count / first
            line = f"{case.job:14}{count:5}{inside.samples_per_s:11.0f}{share:11.3f}{alone:>10}"
            print(f"{line}{inside.outside_s:12.1f}", flush=True)


def long_instructions(folder: Path) -> None:
    """Write instructions whose answers fill the model's context."""
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefgh", k=4)) for _ in range(200)]
    (folder / "site-1").mkdir(parents=True)
    for name, count in (("training", 8192), ("validation", 64)):
        examples = (
            {"prompt": "Go on.\n", "completion": " ".join(chance.choices(words, k=150))} for _ in range(count)
        )
        text = "".join(json.dumps(example) + "\n" for example in examples)
        (folder / "site-1" / f"{name}.jsonl").write_text(text, encoding="utf-8")


def federated(case: Case, python: str, count: int, work: Path) -> Timing:
    """Run the job with one site on the first ``count`` GPUs."""
    shutil.copytree(REPOSITORY / "flare_jobs" / case.job, work)
    options = case.options.format(data=work / "data")
    if options != case.options:
        long_instructions(work / "data")
    gpus = ",".join(map(str, range(count)))
    command = [python, "job.py", "--client_ids", "site-1", "--gpu", f"[{gpus}]", "--num_rounds", str(ROUNDS)]
    return timed([*command, *options.split()], work, work / "evidence", {"CUDA_VISIBLE_DEVICES": ""})


def plain(work: Path) -> Timing:
    """Run the trainers of the federated run in ``work`` again, without NVFlare."""
    site = find_trainers(work)["site-1"]
    return timed(site.command, site.folder, work / "plain", {"REKINDLE_ROUNDS": str(ROUNDS)})


def timed(command: list[str], cwd: Path, evidence: Path, variables: dict[str, str]) -> Timing:
    """Run ``command``, which has to write the evidence of every round."""
    evidence.mkdir(exist_ok=True)
    environ = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY / "src"),
        "REKINDLE_EVIDENCE": str(evidence),
        **variables,
    }
    began = time.monotonic()
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    wall = time.monotonic() - began
    lines = [
        json.loads(line) for path in evidence.glob("site-1.*.jsonl") for line in path.read_text().splitlines()
    ]
    rounds: dict[int, list[dict[str, float]]] = {}
    for line in (line for line in lines if line["event"] == "round"):
        rounds.setdefault(line["round"], []).append(line)
    if sorted(rounds) != list(range(ROUNDS)):
        raise SystemExit(
            f"{shlex.join(command)} did not train {ROUNDS} rounds:\n{(done.stdout + done.stderr)[-3000:]}"
        )
    speeds = [
        sum(rank["samples"] for rank in ranks) / max(rank["seconds"] for rank in ranks)
        for number, ranks in rounds.items()
        if number
    ]
    inside = sum(max(rank["seconds"] for rank in ranks) for ranks in rounds.values())
    return Timing(median(speeds), wall - inside)


if __name__ == "__main__":
    main()
