# SPDX-License-Identifier: Apache-2.0
"""Trainers with gloo wait as they end, in torch's environment: ours, and those of an example."""

import pytest
from runners.commands import capture_command
from runners.gloo_threads import FOR_EVER, busy

from rekindle.trainer.data import DATA

TORCH = "import torch.distributed as dist; dist.init_process_group('gloo')\n"
OURS = """
from rekindle.trainer import Evidence
from rekindle.trainer.ddp import join_group
join_group(Evidence())
"""
UNDER_THE_HOOK = "from rekindle.trainer import hook; hook.install_hook()\n"
ALONE = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}


@pytest.fixture
def printed(torch_python, pytestconfig, tmp_path):
    """Return what a script prints in the environment of torch."""
    env = {
        "PYTHONPATH": str(pytestconfig.rootpath / "src"),
        "REKINDLE_EVIDENCE": str(tmp_path),
        DATA: str(tmp_path),
        **ALONE,
    }

    def run(script):
        command = [torch_python, "-c", script]
        return capture_command(command, env=env, check=True, timeout=300).stdout

    return run


@pytest.mark.parametrize("begins", [OURS, UNDER_THE_HOOK + TORCH], ids=["ours", "an example's"])
def test_a_thread_of_gloos_ends_what_it_does(printed, begins):
    assert printed(begins + busy()) == "over\n"


def test_torch_itself_does_not_wait(printed):
    assert printed(TORCH + busy(times=FOR_EVER)) == ""
