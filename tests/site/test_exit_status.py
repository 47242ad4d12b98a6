# SPDX-License-Identifier: Apache-2.0
"""What docs have of NVFlare's exit status, held to each release: in every run all trainers crash."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from runners.commands import capture_command
from runners.plays import REPOSITORY
from uv import find_uv_bin

from rekindle import locks
from rekindle.solver.catalogue import load_rules

WORDS = (
    "NVFlare's simulator ends with status 0 after a run in which every trainer crashed (2.9.0 does where a "
    "job launches its trainers). So an exit status proves nothing"
)
STATUS = {"2.7.3": 0, "2.8.3": 0, "2.9.0": 1}
"""Of a job whose trainers run inside NVFlare's own processes."""
JOB = """
from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
from nvflare.recipe import SimEnv

how = dict(min_clients=1, num_rounds=1, model=[1.0], train_script="client.py", launch_external_process={})
NumpyFedAvgRecipe(name="crash", **how).execute(SimEnv(num_clients=1, workspace_root="workspace"))
print("The recipe returned.")
"""
RUNS = [*((release, False) for release in STATUS), ("2.9.0", True)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return each finished run, by release and whether the job launches its trainers."""
    pythons = {release: _python(tmp_path_factory.mktemp("nvflare"), release) for release in STATUS}

    def run(release, launched):
        folder = tmp_path_factory.mktemp("run")
        (folder / "job.py").write_text(JOB.format(launched))
        (folder / "client.py").write_text("raise RuntimeError('no data')\n")
        command = [pythons[release], "job.py"]
        return capture_command(command, cwd=folder, timeout=300)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(RUNS, pool.map(lambda asked: run(*asked), RUNS), strict=True))


def _python(folder, release):
    """Return the interpreter of an environment with all that a host's has beside its own torch."""
    marker = "" if release == load_rules().nvflare.version else f"-nvflare{release}"
    lock, env = folder / "lock.txt", folder / "env"
    lock.write_text(
        locks.read_lock(f"torch-system{marker}-py{sys.version_info.major}{sys.version_info.minor}.txt")
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    uv = [sys.executable, "-m", "rekindle.environments.indexes", find_uv_bin(), "pip", "install", "--quiet"]
    command = [*uv, "--require-hashes", f"--python={env}/bin/python", f"--requirement={lock}"]
    subprocess.run(command, check=True, timeout=300)
    return env / "bin/python"


def test_every_release_is_held():
    assert set(STATUS) == set(load_rules().nvflare.releases)
    assert WORDS in " ".join((REPOSITORY / "docs/why/verdict.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(("release", "launched"), RUNS)
def test_a_simulation_whose_trainers_all_crashed_ends_with(runs, release, launched):
    done = runs[release, launched]
    assert "RuntimeError: no data" in done.stdout + done.stderr
    assert done.returncode == (0 if launched else STATUS[release]), done.stderr
    assert ("The recipe returned." in done.stdout) == (done.returncode == 0)
