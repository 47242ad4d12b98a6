# SPDX-License-Identifier: Apache-2.0
"""What a job leaves where a file belongs: it holds up neither driver nor judge, and is never passed over."""

import os
from pathlib import Path

import pytest
from unfit import plant_socket

from rekindle.doctor import diagnose_run
from rekindle.driver.autopsy import write_autopsy
from rekindle.driver.growth import Growth
from rekindle.driver.progress import Reporter
from rekindle.driver.sampler import Sampler
from rekindle.driver.snapshot import Snapshot
from rekindle.driver.watchdog import Watchdog
from rekindle.host import files
from rekindle.judge import judge_run
from rekindle.records import LeftBehind, RecordError, RunSpec, VerdictRecord, read_record, write_record

EVIDENCE, LOG = "evidence/site-1.rank-0.jsonl", "job/workspace/pt_ddp/server/log.txt"


def _endless(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)


PLANTS = {
    "FIFO": (os.mkfifo, "it is no regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is no regular file"),
    "link to itself": (lambda path: path.symlink_to(path.name), "it is no regular file"),
    "folder": (Path.mkdir, "it is no regular file"),
    "socket": (plant_socket, "it is no regular file"),
    "endless": (_endless, "it has more than 67108864 bytes"),
}


@pytest.fixture(params=PLANTS)
def plant(request):
    """Return what puts something unfit in the place of a file, and why that is not read."""
    put, why = PLANTS[request.param]

    def replace(path):
        path.unlink(missing_ok=True)
        put(path)
        return why

    return replace


@pytest.mark.parametrize("name", [EVIDENCE, LOG, "evidence/more.jsonl", "samples.jsonl"])
def test_a_run_is_unproven_and_names_what_was_not_read(clean_run, plant, name):
    why = plant(clean_run / name)
    verdict = judge_run(clean_run)
    assert (verdict.verdict, verdict.cause) == ("UNPROVEN", f"{name} was not read: {why}.")


def test_a_record_that_is_no_file_is_a_sentence(clean_run, plant):
    why = plant(clean_run / "verdict.json")
    with pytest.raises(RecordError, match="Fix:"):
        read_record(clean_run / "verdict.json", VerdictRecord)
    assert why


def test_too_many_files_are_reported(clean_run, monkeypatch):
    monkeypatch.setattr(files, "MOST", 3)
    assert judge_run(clean_run).cause == "Of evidence/ no more than 3 files were read."


def test_what_stayed_on_the_host_is_missed_at_home(clean_run):
    left = {"job/model.pt": "it has more than 9 bytes", "evidence/more.jsonl": "it is no regular file"}
    write_record(clean_run / "left.json", LeftBehind(files=left))
    verdict = judge_run(clean_run)
    assert verdict.verdict == "UNPROVEN"
    assert verdict.cause == "evidence/more.jsonl stayed on the host: it is no regular file."


def test_the_driver_goes_on(clean_run, plant):
    spec = read_record(clean_run / "spec.json", RunSpec)
    for name in (EVIDENCE, LOG, "job.log"):
        plant(clean_run / name)
    for name in ("autopsy", "evidence/rank.pipe"):
        plant(clean_run / name)
    Reporter(clean_run, spec).report(1.0)
    growth = Growth(clean_run)
    Watchdog(spec, Snapshot(0.0, said=growth.count())).look(Snapshot(9.0, said=growth.count()), {})
    write_autopsy(clean_run, str(clean_run), [])
    diagnose_run(clean_run)


def test_samples_go_into_no_fifo(clean_run, plant):
    if plant(clean_run / "samples.jsonl") != "it is no regular file":
        return
    with pytest.raises(OSError, match="no regular file"):
        Sampler(clean_run / "samples.jsonl", set()).sample(Snapshot(0.0))


def test_the_last_bytes_of_an_endless_file_are_read(tmp_path):
    _endless(tmp_path / "log")
    assert files.read_end(tmp_path / "log", 10) == bytes(10)
