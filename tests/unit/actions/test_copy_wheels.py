# SPDX-License-Identifier: Apache-2.0
"""Which wheels a host says that it has, whatever its shell says beside that; and what it is brought."""

import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from locked import lock_as_today

from rekindle import locks
from rekindle.environments.lockfile import Pin
from rekindle.hostfacts.frames import FactsError


@pytest.fixture
def ask(load, shell):
    def ask(folder, noise):
        """Return what the action makes of the answer; ``noise`` is what the host's shell does first."""
        execute = {"_low_level_execute_command": lambda command: shell(f"{noise} {command}")}
        return load("copy_wheels").make({}, **execute)._there("h200", folder / "wheels", folder / "built")

    return ask


@pytest.mark.parametrize("noise", ["", "echo Welcome;", "echo built;", "printf 'no line';", "echo 9 a.whl;"])
def test_the_wheels_that_are_there_are_known_by_size(ask, tmp_path, noise):
    assert ask(tmp_path, noise) == {}
    (tmp_path / "wheels" / "a.whl").write_text("abc")
    assert ask(tmp_path, noise) == {"a.whl": 3}
    (tmp_path / "built").touch()
    assert ask(tmp_path, noise) is None


@pytest.fixture
def bring(load, home, tmp_path, monkeypatch):
    """Bring a wheelhouse, in which each lock has one wheel, to a host that answers ``there``."""
    lock_as_today(home)
    action, sent = load("copy_wheels"), []
    monkeypatch.setattr(action.module, "Display", lambda: SimpleNamespace(display=lambda text: None))
    content = b"wheel"
    pin = Pin("a", "1", frozenset([hashlib.sha256(content).hexdigest()]))
    monkeypatch.setattr(action.module, "read_pins", lambda text, architecture: [pin])
    for name in ("driver.txt", "torch-system-py312.txt"):
        lock = locks.digest_lock(name)
        wheel = tmp_path / "wheelhouse" / lock[:12] / "a-1.whl"
        wheel.parent.mkdir(parents=True)
        wheel.write_bytes(content)

    def run(there=lambda target: {}):
        def answer(self, host, target, built):
            return there(target)

        monkeypatch.setattr(action.module.ActionModule, "_there", answer)
        connection = SimpleNamespace(put_file=lambda source, target: sent.append(Path(target).name))
        args = {"wheelhouse": str(tmp_path / "wheelhouse"), "folder": str(home), "capsule": ""}
        return action.run(args, _connection=connection), sent

    return run


def test_a_host_without_wheels_is_brought_those_of_each_environment(bring):
    assert bring() == ({"changed": True}, ["a-1.whl", "a-1.whl"])


def test_what_is_there_with_its_full_size_is_not_brought_again(bring):
    assert bring(lambda target: {"a-1.whl": 5}) == ({"changed": False}, [])
    assert bring(lambda target: {"a-1.whl": 4})[1] == ["a-1.whl", "a-1.whl"]


def _spoil(wheelhouse, spoil):
    for wheel in wheelhouse.glob("*/*"):
        spoil(wheel)


def test_what_is_built_needs_no_wheels(bring, tmp_path):
    _spoil(tmp_path / "wheelhouse", Path.unlink)
    assert bring(lambda target: None) == ({"changed": False}, [])


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda wheel: wheel.write_text("other")], ids=["gone", "other"]
)
def test_a_wheelhouse_that_is_not_whole_fails_before_anything_is_brought(golden, bring, tmp_path, spoil):
    _spoil(tmp_path / "wheelhouse", spoil)
    result, sent = bring()
    assert (result["failed"], sent) == (True, [])
    golden(result["msg"])


def test_without_an_answer_or_a_record_it_fails(golden, ask, bring, home, tmp_path):
    with pytest.raises(FactsError) as error:
        ask(tmp_path, "exit 0;")
    lines = [str(error.value)]
    for name in ("host.json", "plan.json"):
        (home / name).unlink()
        lines.append(bring()[0]["msg"])
    golden(*lines)


def test_what_no_lock_has_stays_here(bring, tmp_path):
    for folder in (tmp_path / "wheelhouse").iterdir():
        (folder / "id_rsa").write_text("key")
        (folder / "b-9.whl").symlink_to(folder / "id_rsa")
    assert bring()[1] == ["a-1.whl", "a-1.whl"]
