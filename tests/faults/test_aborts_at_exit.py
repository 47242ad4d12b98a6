"""A trainer that ends while a thread of gloo's still wants Python, in torch's environment."""

import subprocess

import pytest

JOINS = "import torch, torch.distributed as dist"
ENDS = """
import sys, time
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
sys.setswitchinterval(1000)  # what wants Python waits until it is given up
dist.all_reduce(torch.ones(8), async_op=True)
until = time.perf_counter() + 0.3
while time.perf_counter() < until:
    pass
"""
RESTS = "from rekindle.trainer import gloo; gloo.rest_at_exit()"
UNDER_THE_HOOK = "from rekindle.trainer import hook; hook.install()"


@pytest.fixture
def ended(torch_python, pytestconfig, tmp_path):
    """Return what runs a trainer, and how it ended."""
    env = {"PYTHONPATH": str(pytestconfig.rootpath / "src")}

    def run(*begin):
        script = "\n".join([*begin, ENDS])
        command = [torch_python, "-c", script, str(tmp_path / "store")]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    return run


def test_it_aborts_as_it_stands(ended):
    done = ended(JOINS)
    assert done.returncode == -6
    assert "terminate called without an active exception" in done.stderr


@pytest.mark.parametrize("begin", [(JOINS, RESTS), (UNDER_THE_HOOK, JOINS)], ids=["ours", "an example's"])
def test_one_that_waits_for_the_thread_ends_well(ended, begin):
    assert ended(*begin).returncode == 0
