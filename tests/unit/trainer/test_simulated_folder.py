# SPDX-License-Identifier: Apache-2.0
"""The folder of a simulation has what was given for it, as NVFlare 2.9's SimEnv gives its list of classes."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from rekindle.trainer import hook


@pytest.fixture
def simulate(monkeypatch, tmp_path):
    """Return what simulates in a workspace, for which settings were given as SimEnv does, below ``root``."""

    class SimulatorRunner:
        def setup(self):
            Path(self.workspace, "server").mkdir(parents=True)

    hook.PATCHES["nvflare.private.fed.app.simulator.simulator_runner"](
        SimpleNamespace(SimulatorRunner=SimulatorRunner, mpm=None)
    )
    root = tmp_path / "run/job/workspace"
    root.mkdir(parents=True)
    (tmp_path / "run/hook").mkdir()
    monkeypatch.setenv(hook.WORKSPACE, str(root))
    monkeypatch.setenv("REKINDLE_SERVER", "server")

    def run(workspace):
        (workspace / "local").mkdir(parents=True, exist_ok=True)
        (workspace / "local/resources.json.default").write_text("{}")
        runner = SimulatorRunner()
        runner.workspace, runner.job_folder = str(workspace), "jobs/hello"
        runner.setup()
        return Path(runner.workspace)

    return SimpleNamespace(root=root, run=run)


def test_settings_that_were_given_for_a_simulation_are_no_earlier_one(simulate):
    assert simulate.run(simulate.root / "hello") == simulate.root / "hello"
    assert simulate.run(simulate.root / "hello") == simulate.root / "hello-2"


def test_settings_go_along_to_the_runs_folder(simulate, tmp_path):
    for workspace in (tmp_path / "chosen", simulate.root / "hello"):
        made = simulate.run(workspace)
        assert made.parent == simulate.root
        assert (made / "local/resources.json.default").is_file()
