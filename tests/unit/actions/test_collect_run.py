# SPDX-License-Identifier: Apache-2.0
"""Bringing a run home: two at once do not take each other's archive away, and none stays on the host."""

import hashlib
import os
import shutil
import sys
import time
import zipfile
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from runners.plays import REPOSITORY

from rekindle.actions import clock as clock_of_host
from rekindle.records import PlacedRecord, RunSpec, read_record, write_record
from rekindle.results import collection
from rekindle.results.archive import unpack_archive

PAYLOAD = REPOSITORY / "src"
SENT, MEASURES = (
    read_record(REPOSITORY / "tests/recordings" / run / "spec.json", RunSpec)
    for run in ("runs/pt_ddp-cpu-2", "acceptance/h200-x2")
)


@pytest.fixture
def collect(tmp_path, monkeypatch, load, shell):
    """Return what collects tmp_path/run to a folder, with ``between`` done before it fetches."""
    action, shown = load("collect_run"), []
    module = action.module
    monkeypatch.setattr(module, "Display", lambda: SimpleNamespace(display=shown.append))
    monkeypatch.setattr(
        module.collection, "keep_run", lambda packed, dest, *rest: unpack_archive(packed, dest)
    )

    def run(dest, between=lambda: None, spec=SENT, message="time.time()"):
        monkeypatch.setattr(clock_of_host, "TIME", f"import time; print({message})")
        placed = PlacedRecord(
            run=str(tmp_path / "run"), payload=str(PAYLOAD), spec=spec, at="2026-11-25T22:28:00Z"
        )
        write_record(tmp_path / f"{dest}.placed.json", placed)
        answer = {"job": dest, "python": sys.executable, "home": str(tmp_path)}
        connection = SimpleNamespace(fetch_file=lambda *names: (between(), shutil.copy(*names)))
        return action.run(answer, _low_level_execute_command=shell, _connection=connection), shown

    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a").write_text("1")
    return run


def test_two_collect_one_run_at_once(collect, tmp_path):
    assert collect("one", lambda: collect("two")) == ({}, [])
    assert (tmp_path / "one/a").read_text() == (tmp_path / "two/a").read_text() == "1"
    assert list(tmp_path.glob("*.tar.gz")) == []


def test_what_stays_on_the_host_is_reported(collect, tmp_path):
    os.mkfifo(tmp_path / "run" / "pipe")
    assert collect("one")[1] == ["somewhere one: stayed on the host: pipe (it is no regular file)"]


def test_what_a_killed_collector_left_on_the_host_goes(collect, tmp_path):
    for name in ("run.1.tar.gz", "run.2.tar.gz"):
        (tmp_path / name).touch()
    os.utime(tmp_path / "run.1.tar.gz", (time.time(), time.time() - 9000))
    assert collect("one")[0] == {}
    assert [path.name for path in tmp_path.glob("*.tar.gz")] == ["run.2.tar.gz"]


def _raise(error):
    raise error


def test_a_job_that_was_not_placed_is_skipped_and_one_whose_record_is_broken_fails(load, tmp_path):
    args = {"job": "one", "python": sys.executable, "home": str(tmp_path)}
    skipped = {"skipped": True, "skip_reason": "one was not placed on the host."}
    assert load("collect_run").run(args) == skipped
    (tmp_path / "one.placed.json").write_text("{}")
    assert "one.placed.json is not a valid PlacedRecord: " in load("collect_run").run(args)["msg"]


def test_a_run_that_cannot_be_packed_fails_and_leaves_what_came_home_before(
    golden, collect, tmp_path, monkeypatch
):
    assert collect("one")[0] == {}
    shutil.rmtree(tmp_path / "run")
    gone, _ = collect("one")
    assert (tmp_path / "one/a").read_text() == "1"
    (tmp_path / "python").write_text("#!/bin/sh\necho 'No space\nleft.' >&2\nexit 1\n")
    (tmp_path / "python").chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    full, _ = collect("one")
    assert gone["failed"]
    assert full["failed"]
    golden(gone["msg"], full["msg"])


def test_an_archive_that_cannot_be_fetched_or_is_damaged_fails_and_leaves_the_host(collect, tmp_path):
    def damage():
        (archive,) = tmp_path.glob("run.*.tar.gz")
        archive.write_bytes(archive.read_bytes()[:20])

    result, _ = collect("one", lambda: _raise(AnsibleError("no such file")))
    assert result["msg"].endswith("could not be fetched, or has more than 512 MiB: no such file")
    result, _ = collect("one", damage)
    assert result["failed"]
    assert not (tmp_path / "one").exists()
    assert list(tmp_path.glob("*.tar.gz")) == []


def test_a_host_that_is_lost_is_no_failure_of_the_run(collect):
    with pytest.raises(AnsibleConnectionFailure):
        collect("one", lambda: _raise(AnsibleConnectionFailure("no route")))


def test_a_list_of_what_stayed_that_is_broken_is_reported(collect, monkeypatch):
    def keep(packed, dest, *rest):
        dest.mkdir()
        (dest / "left.json").write_text("{")

    monkeypatch.setattr(collection, "keep_run", keep)
    result, (printed,) = collect("one")
    assert result == {}
    assert "left.json is not a valid LeftBehind: " in printed


@pytest.fixture
def clock(collect, monkeypatch):
    """Return a function that collects a run from a host that says a time, and returns what its clock is."""

    def run(message, spec=MEASURES):
        found = []
        monkeypatch.setattr(
            collection, "keep_run", lambda packed, dest, placed, clock, _: found.append(clock)
        )
        assert collect("one", spec=spec, message=message)[0] == {}
        return found[0]

    return run


@pytest.mark.parametrize("ahead_s", [0, 4000, -4000])
@pytest.mark.parametrize("spec", [SENT, MEASURES])
def test_the_clock_of_a_host_is_asked_within_its_round_trip(clock, ahead_s, spec):
    answer = clock(f"time.time() + {ahead_s}", spec)
    assert 0 < answer.error_s < 30
    assert abs(answer.offset_s - ahead_s) <= answer.error_s


def test_a_host_that_greets_has_a_clock_and_one_that_prints_no_time_none(clock):
    for message in ("''", "'soon'", "'nan'", "'inf'", "'1e200'", "'1 2'"):
        assert clock(message) is None
    assert abs(clock("'Welcome!\\n', time.time(), sep=''").offset_s) < 30


@pytest.mark.parametrize("readable", [True, False])
def test_the_payload_on_the_host_has_a_digest_if_it_can_be_read(collect, tmp_path, monkeypatch, readable):
    found, payload = [], tmp_path / "it's"
    with zipfile.ZipFile(payload, "w") as archive:
        for path in (PAYLOAD / "rekindle").rglob("*.py"):
            archive.write(path, path.relative_to(PAYLOAD))
    monkeypatch.setattr(collection, "keep_run", lambda *given: found.append(given[-1]))
    monkeypatch.setattr(sys.modules[__name__], "PAYLOAD", payload if readable else PAYLOAD)
    assert collect("one")[0] == {}
    assert found == [hashlib.sha256(payload.read_bytes()).hexdigest() if readable else ""]
