# SPDX-License-Identifier: Apache-2.0
"""Retiring a host that is a folder here: nothing of it goes before its copy is at home, whole."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from runners.commands import capture_command
from samples.hosts import built
from stand_ins import shims

from rekindle.records import RetiredRecord, read_record
from rekindle.retire.removal import find_own_root, pack_last_copy, remove_root


class Host:
    """Does what plugins/modules/retire.py does, but for what still runs; ``answers`` go before it."""

    def __init__(self, root):
        self.root, self.asked, self.answers, self.place = root, [], {}, None
        self.python = None

    def execute_module(self, name, given, task_vars):
        assert (name, given["root"], given["stop"]) == ("rekindle.flare.retire", str(self.root), False)
        self.python = task_vars.get("ansible_python_interpreter")
        self.asked.append(given["verb"])
        if given["verb"] in self.answers:
            return self.answers[given["verb"]]
        root = find_own_root(given["root"])
        if root is None:
            return {"changed": False}
        if given["verb"] == "pack":
            packed = pack_last_copy(root)
            self.place = Path(packed["place"])
            return {"root": str(root), **packed}
        remove_root(root)
        return {"changed": True}


@pytest.fixture
def host(tmp_path):
    """Return a host with a log and a run."""
    root = tmp_path / "rekindle"
    for name in ("jobs/rekindle-0123456789ab.zip", "logs/build.log", "runs/toy-0123456789ab/verdict.json"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("{}")
    (root / "tmp").mkdir()
    return Host(root)


@pytest.fixture
def retire(load, shell, host, tmp_path):
    """Retire the host; ``spoil`` is done to each archive on its way."""

    def run(spoil=lambda archive: None, check_mode=False, python="/usr/bin/python3"):
        def fetch(source, target):
            shutil.copy(source, target)
            spoil(Path(target))

        args = {"root": str(host.root), "stop": False, "dest": str(tmp_path / "home"), "python": python}
        return load("retire").run(
            args,
            _task=SimpleNamespace(args=args, check_mode=check_mode),
            _execute_module=host.execute_module,
            _low_level_execute_command=shell,
            _connection=SimpleNamespace(fetch_file=fetch),
        )

    return run


def minor_of(python):
    """Return the version of a Python, as 3.12."""
    say = "import sys; print('%d.%d' % sys.version_info[:2], end='')"
    return capture_command([python, "-c", say], check=True).stdout


def _assert_untouched(host, result, printed):
    assert result["failed"]
    assert printed in result["msg"]
    assert host.asked == ["pack"]
    assert (host.root / "runs" / "toy-0123456789ab" / "verdict.json").is_file()
    assert not host.place.exists()


def test_a_host_is_copied_and_then_removed(retire, host, tmp_path):
    assert retire() == {"changed": True}
    assert host.asked == ["pack", "remove"]
    assert not host.root.exists()
    assert not host.place.exists()
    home = tmp_path / "home"
    assert (home / "retired/runs/toy-0123456789ab/verdict.json").read_text() == "{}"
    assert (home / "retired/logs/build.log").read_text() == "{}"
    record = read_record(home / "retired.json", RetiredRecord)
    assert (record.host, list(record.runs), record.files) == ("somewhere", ["toy-0123456789ab"], 2)
    assert record.retired


@pytest.mark.parametrize("python", ["auto", "auto_silent"])
def test_a_host_that_no_record_is_of_is_asked_for_a_python_that_works(
    retire, host, tmp_path, monkeypatch, python
):
    monkeypatch.setenv("PATH", str(shims.put(tmp_path / "shims")), prepend=":")
    assert retire(python=python) == {"changed": True}
    assert re.fullmatch(r"3\.1[0-2]", minor_of(host.python))


def test_a_python_that_is_known_or_not_given_is_asked_no_further(retire, host, monkeypatch):
    assert retire(python="/opt/python3") == {"changed": True}
    assert host.python is None
    monkeypatch.setattr("rekindle.hostfacts.frames.LIMITS_S", ("no number", 1))
    assert retire(python="auto_silent") == {"changed": False}
    assert host.python == "auto_silent"


def test_a_host_without_anything_of_ours_is_gone_already(retire, host, tmp_path):
    shutil.rmtree(host.root)
    assert retire() == {"changed": False}
    assert host.asked == ["pack"]
    assert read_record(tmp_path / "home" / "retired.json", RetiredRecord).retired


@pytest.mark.parametrize(
    "answer", [{"failed": True, "msg": "toy still runs."}, {"unreachable": True}, {"changed": True}]
)
def test_what_cannot_be_packed_and_check_mode_do_nothing(retire, host, tmp_path, answer):
    host.answers["pack"] = answer
    assert retire(check_mode="changed" in answer) == answer
    assert host.asked == ["pack"]
    assert not (tmp_path / "home").exists()


def test_what_cannot_be_removed_is_reported_and_the_host_is_not_gone(retire, host, tmp_path):
    answer = {"failed": True, "msg": "runs cannot be removed."}
    host.answers["remove"] = answer
    assert retire() == answer
    assert not host.place.exists()
    record = read_record(tmp_path / "home" / "retired.json", RetiredRecord)
    assert (record.files, record.retired) == (2, None)


def test_an_archive_that_is_damaged_on_its_way_fails(retire, host):
    result = retire(lambda archive: archive.write_bytes(archive.read_bytes()[:40]))
    _assert_untouched(host, result, "The archive from the host cannot be unpacked: ")


def test_files_that_are_not_the_hosts_fail(retire, host):
    good = []

    def mix_up(archive):
        good.append(archive.read_bytes())
        archive.write_bytes(good[0])

    message = "on the controller is not the host's, and nothing was removed there. Fix: "
    _assert_untouched(host, retire(mix_up), message)


BUILT = {"environment": built(), "lock_text": ""}


@pytest.mark.parametrize(
    ("answer", "printed"),
    [
        ({"place": "/tmp/x\nrm y"}, "The host packed something else than it was asked for: "),
        ({"environments": [BUILT]}, "was never sent from here"),
    ],
)
def test_what_the_host_was_not_asked_for_fails(retire, host, answer, printed):
    packed = {"root": str(host.root), **pack_last_copy(host.root)}
    host.place = Path(packed["place"])
    host.answers["pack"] = {**packed, **answer}
    result = retire()
    shutil.rmtree(host.place, ignore_errors=True)
    _assert_untouched(host, result, printed)
