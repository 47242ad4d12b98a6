# SPDX-License-Identifier: Apache-2.0
"""Products of the acceptance stage, held against those of other GPUs, by processes that stand for GPUs."""

import json
import os
import subprocess

import pytest
from runners.plays import REPOSITORY

COMPARE = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
import torch
import torch.distributed as dist
import gpu

gpu._SIDE = 8

def main(number, results, folder):
    meet = f"file://{folder / 'meet'}"
    dist.init_process_group("gloo", init_method=meet, rank=number, world_size=len(results))
    rank = SimpleNamespace(
        number=number, count=len(results), joined=True, device=torch.device("cpu"),
        note=lambda *figure: (folder / f"{number}.json").write_text(json.dumps(figure)),
    )
    wrong = iter(results[number])

    def multiply():
        product = torch.ones(gpu._SIDE, gpu._SIDE, dtype=torch.bfloat16)
        product.view(-1)[: next(wrong)] = 2
        return product

    gpu._compare(rank, multiply)

for case, results in enumerate(json.loads(sys.argv[1])):
    folder = Path(sys.argv[2], str(case))
    folder.mkdir()
    torch.multiprocessing.start_processes(main, (results, folder), len(results), start_method="fork")
"""
MOST, OWN = "that of most GPUs", "its own second one"
SPLIT = "those of other GPUs, and it is not known which is right"
CASES = [
    ([[0], [0]], [0, 0], MOST),
    ([[0], [5], [0]], [0, 5, 0], MOST),
    ([[3], [0], [5], [0]], [3, 0, 5, 0], MOST),
    ([[5], [0]], [5, 5], SPLIT),
    ([[0], [5]], [5, 5], SPLIT),
    ([[5], [0], [5], [0]], [5, 5, 5, 5], SPLIT),
    ([[0, 0]], [0], OWN),
    ([[0, 5]], [5], OWN),
]
"""How many values each GPU has wrong in each product of its own; how many are told of it, and of what."""


@pytest.fixture(scope="module")
def compared(torch_python, tmp_path_factory):
    """Return a folder with what each GPU of each case noted."""
    folder = tmp_path_factory.mktemp("products")
    (folder / "compare.py").write_text(COMPARE)
    subprocess.run(
        [torch_python, folder / "compare.py", json.dumps([results for results, _, _ in CASES]), folder],
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}/flare_jobs/acceptance:{REPOSITORY}/src"},
        check=True,
        timeout=300,
    )
    return folder


@pytest.mark.parametrize("case", range(len(CASES)))
def test_gpus_that_differ_from_most_are_named_and_all_of_them_where_there_is_no_most(compared, case):
    _, differ, than = CASES[case]
    for number, wrong in enumerate(differ):
        message = f"{wrong} of 64 values of one product differ from {than}"
        noted = json.loads((compared / str(case) / f"{number}.json").read_text())
        assert noted == ["product_differs", [wrong], "values", message]
