# SPDX-License-Identifier: Apache-2.0
"""benchmarks/accept.py, with stand-ins for nvidia-smi, torch and the GPUs' own processes."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from runners.commands import capture_command
from test_job import UUIDS

REPOSITORY = Path(__file__).parents[3]
SMI = """#!/bin/sh
case "$*" in
    '--query-gpu=index,uuid --format=csv,noheader') printf '0, {0}\\n1, {1}\\n' ;;
    '-q -x') cat {recordings}/h200-x2-nvidia-smi-q.xml ;;
    'topo -m') cat {recordings}/h200-x2-topo-m.txt ;;
esac
"""
RANKS = """
import json, os, sys
rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
json.dump([], open(f"{sys.argv[1]}/rank-{rank}.json", "w"))
if rank == 0:
    print("products: 0.1 s")
    print(f"peers: {count - 1}.0 s", flush=True)
"""


@pytest.fixture
def bench(recordings, tmp_path):
    """Return a function that runs the benchmark in a checkout of its own."""
    for name in ("benchmarks/accept.py", "flare_jobs/acceptance"):
        source, target = REPOSITORY / name, tmp_path / "checkout" / name
        target.parent.mkdir(parents=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    smi, torch = tmp_path / "bin" / "nvidia-smi", tmp_path / "site" / "torch.py"
    for path in (smi, torch):
        path.parent.mkdir()
        path.touch()

    def run(answers=SMI, ranks=RANKS, **environ):
        (tmp_path / "checkout/flare_jobs/acceptance/ranks.py").write_text(ranks)
        smi.write_text(answers.format(*UUIDS, recordings=recordings))
        smi.chmod(0o755)
        path = f"{smi.parent}:{os.environ['PATH']}"
        inherited = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        return capture_command(
            [sys.executable, "benchmarks/accept.py"],
            cwd=tmp_path / "checkout",
            env={**inherited, "PATH": path, "PYTHONPATH": str(torch.parent), **environ},
        )

    return run


def test_it_prints_a_row_for_each_number_of_gpus_with_its_parts(bench):
    done = bench()
    assert done.returncode == 0, done.stderr
    title, line, *rows = done.stdout.splitlines()
    assert title == "| GPUs | s, the complete process | start, nvidia-smi | products | peers |"
    assert line.count("|") == title.count("|")
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in cells] == ["1, the first time", "1", "2"]
    assert [row[4] for row in cells] == ["0.0", "0.0", "1.0"]
    assert all(float(row[1]) > 0 for row in cells)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"answers": "#!/bin/sh\necho No devices; exit 6"}, "shows no GPU, and prints: No devices"),
        ({"answers": "#!/bin/sh\n:"}, "shows no GPU, and prints: nothing"),
        ({"PATH": "/nowhere"}, "nvidia-smi is not here"),
        ({"PYTHONPATH": ""}, "has no torch"),
        ({"CUDA_VISIBLE_DEVICES": "7"}, "names '7', which nvidia-smi does not show"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "names '', which nvidia-smi does not show"),
    ],
)
def test_what_it_lacks_is_named_in_a_sentence(bench, how, message):
    done = bench(**how)
    assert done.returncode == 1
    assert message in done.stderr
    assert re.search(r"\. Fix: [^\n]+\.\n\Z", done.stderr)
    assert not done.stdout
