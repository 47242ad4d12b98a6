"""Which environments a host has, as ``--check`` asks it."""

import pytest
from locked import lock_as_today
from msgspec.structs import replace

from rekindle import locks
from rekindle.host import folders
from rekindle.records import HostRecord, StandingRecord, read, write

LOCKS = {
    name: locks.sha256(f"{lock}.txt")
    for name, lock in {"driver": "driver", "torch": "torch-system-py312"}.items()
}


@pytest.fixture
def look(load, shell, home, tmp_path):
    """Let it look at a host with a root of its own, whose shell says something first."""
    lock_as_today(home)
    host = read(home / "host.json", HostRecord)
    write(home / "host.json", replace(host, root=str(tmp_path / "root")))

    def run(wheelhouse="", noise="echo Welcome;"):
        args = {"folder": str(home), "wheelhouse": str(wheelhouse), "capsule": ""}
        execute = {"_low_level_execute_command": lambda command: shell(f"{noise} {command}")}
        return load("inspect_environments").run(args, **execute)

    return run


def stand(root, name):
    marker = folders.environment(root, name, LOCKS[name]) / folders.ENV_MARKER
    marker.parent.mkdir(parents=True)
    marker.touch()


@pytest.fixture
def answer(look, home):
    """Look; returns which environments stand, and what is to be fetched and brought."""

    def run(*wheelhouse):
        assert look(*wheelhouse) == {"changed": False}
        record = read(home / "standing.json", StandingRecord)
        return record.standing, record.fetch_mb, record.wheels_mb

    return run


def test_what_is_whole_stands_and_nothing_is_made(answer, tmp_path):
    none, bare_mb, _ = answer()
    assert none == ()
    assert not (tmp_path / "root").exists()
    stand(tmp_path / "root", "torch")
    standing, fetch_mb, wheels_mb = answer()
    assert (standing, wheels_mb) == (("torch",), None)
    assert fetch_mb < bare_mb


def test_the_wheels_of_what_does_not_stand_are_to_be_brought(answer, tmp_path):
    for digest in LOCKS.values():
        (tmp_path / "w" / digest[:12]).mkdir(parents=True)
        (tmp_path / "w" / digest[:12] / "a.whl").write_bytes(bytes(3_000_000))
    assert answer(tmp_path / "w")[1:] == (None, 6)
    stand(tmp_path / "root", "torch")
    assert answer(tmp_path / "w")[2] == 3


def test_a_host_that_gives_no_answer_is_not_taken_for_a_bare_one(golden, look, home):
    golden(look(noise="exit 0;")["msg"])
    assert not (home / "standing.json").exists()
