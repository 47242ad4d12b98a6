"""Which wheels a host says that it has, whatever its shell says beside that."""

import subprocess
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from rekindle.hostfacts.frames import FactsError

SOURCE = Path(__file__).parents[3] / "plugins" / "action" / "bring_wheels.py"


def ask(folder, noise):
    """Return what the action makes of the answer; ``noise`` is what the host's shell does first."""
    spec = spec_from_file_location("bring_wheels", SOURCE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    action = module.ActionModule.__new__(module.ActionModule)

    def execute(command):
        done = subprocess.run(f"{noise} {command}", shell=True, capture_output=True, text=True, check=False)
        return {"rc": done.returncode, "stdout": done.stdout}

    action._low_level_execute_command = execute
    return action._there(folder / "wheels", folder / "built")


@pytest.mark.parametrize("noise", ["", "echo Welcome;", "echo built;", "printf 'no line';", "echo 9 a.whl;"])
def test_the_wheels_that_are_there_are_told_by_size(tmp_path, noise):
    assert ask(tmp_path, noise) == {}
    (tmp_path / "wheels" / "a.whl").write_text("abc")
    assert ask(tmp_path, noise) == {"a.whl": 3}
    (tmp_path / "built").touch()
    assert ask(tmp_path, noise) is None


def test_a_host_that_gives_no_answer_is_not_taken_for_an_empty_one(tmp_path):
    with pytest.raises(FactsError):
        ask(tmp_path, "exit 0;")
