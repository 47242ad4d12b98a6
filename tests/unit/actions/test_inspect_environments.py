# SPDX-License-Identifier: Apache-2.0
"""Which environments a host has, as ``--check`` asks it; and whether they stand as they were built."""

import json
from types import SimpleNamespace

import pytest
from locked import lock_as_today
from msgspec.structs import replace

from rekindle import locks
from rekindle.host import folders
from rekindle.records import (
    Allocation,
    EnvRecord,
    HostRecord,
    PayloadRecord,
    StandingRecord,
    dump_builtins,
    read_record,
    write_record,
)
from rekindle.results import state

LOCKS = {
    name: locks.digest_lock(f"{lock}.txt")
    for name, lock in {"driver": "driver", "torch": "torch-system-py312"}.items()
}


@pytest.fixture
def look(load, shell, home, tmp_path):
    """Let it look at a host with a root of its own, whose shell says something first."""
    lock_as_today(home)
    host = read_record(home / "host.json", HostRecord)
    write_record(home / "host.json", replace(host, root=str(tmp_path / "root")))

    def run(wheelhouse="", noise="echo Welcome;", *, checks=True):
        args = {"folder": str(home), "wheelhouse": str(wheelhouse), "capsule": ""}
        execute = {"_low_level_execute_command": lambda command, **more: shell(f"{noise} {command}", **more)}
        task = SimpleNamespace(args=args, check_mode=checks)
        return load("inspect_environments").run(args, host="h200", **execute, _task=task)

    return run


def stand(root, name):
    marker = folders.locate_environment(root, name, LOCKS[name]) / folders.ENV_MARKER
    marker.parent.mkdir(parents=True)
    marker.touch()


@pytest.fixture
def answer(look, home):
    """Look; returns which environments stand, and what is to be fetched and brought."""

    def run(*wheelhouse):
        assert look(*wheelhouse) == {"changed": False}
        record = read_record(home / "standing.json", StandingRecord)
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


@pytest.fixture
def built(look, home, own_state):
    """Return what looks, on a host that says what it is told to of its environments; and what they were."""
    environments = dump_builtins(read_record(home / "env.json", EnvRecord))["environments"]
    (home / "env.json").unlink()
    write_record(home / "payload.json", PayloadRecord(host="h200", path="/r/jobs/rekindle-0.zip"))

    def run(says):
        return look(noise=f"cat > /dev/null; echo '{says}'; exit 0;", checks=False)

    return run, environments


def test_what_stands_as_it_was_built_is_written_down_as_after_a_build(built, home):
    look, environments = built
    assert look(json.dumps({"environments": environments})) == {"changed": False}
    assert dump_builtins(read_record(home / "env.json", EnvRecord))["environments"] == environments
    assert (home / "locks" / "driver.txt").read_text() == locks.read_lock("driver.txt")


@pytest.mark.parametrize("message", ["", "sh: not found", "[]", "{}", '{"environments": []}'])
def test_what_does_not_stand_is_to_be_built_from_locks_that_are_kept_as_sent(built, home, message):
    specs = built[0](message)["specs"]
    assert [spec["name"] for spec in specs] == ["driver", "torch"]
    assert all(state.find_sent_lock(spec["lock_sha256"]) == spec["lock_text"] for spec in specs)
    assert not (home / "env.json").exists()


def test_what_was_not_asked_for_is_refused(built, home):
    look, environments = built
    message = look(json.dumps({"environments": environments[:1]}))["msg"]
    assert message.startswith("What came from the host is not a valid EnvRecord: its locks are not those")
    assert not (home / "env.json").exists()


def test_of_a_cluster_only_a_node_can_tell(built, home):
    look, environments = built
    host = read_record(home / "host.json", HostRecord)
    write_record(
        home / "host.json",
        replace(host, allocation=Allocation(room="slurm", partition="gpu", time="01:00:00")),
    )
    assert "specs" in look(json.dumps({"environments": environments}))
