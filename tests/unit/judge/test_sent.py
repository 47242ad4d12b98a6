# SPDX-License-Identifier: Apache-2.0
"""A run is of its nonce's time and ran the files that were sent, or it is no PASS."""

import hashlib
import json
from datetime import datetime, timedelta, timezone

import pytest
from msgspec.structs import replace
from samples.edits import result_of

from rekindle.host.archive import FILE_LIMIT
from rekindle.judge import judge_run
from rekindle.records import (
    Allocation,
    Clock,
    RunEnd,
    RunSpec,
    format_time,
    parse_time,
    read_record,
    write_record,
)

CODE = {"client.py": b"train()\n", "job.py": b"run()\n", "nets/model.py": b"net\n"}
COPY = "job/workspace/pt_ddp/site-1/simulate_job/app_site-1/custom"


def _placed(run, before_s=20, after_s=20, offsets=(0.0, 0.0), by=0):
    """Have the nonce be made so long before the run, and the run be collected so long after its end.

    ``offsets`` are those of the host's clock at these times, ``by`` the one that the run itself had.
    """
    ended = read_record(run / "ended.json", RunEnd)
    began = parse_time(ended.started) - timedelta(seconds=offsets[by])
    times = (began - timedelta(seconds=before_s), began + timedelta(seconds=ended.duration_s + after_s))
    clocks = [
        Clock(offset_s=offset, error_s=0.05, asked=format_time(at))
        for offset, at in zip(offsets, times, strict=True)
    ]
    write_record(run / "spec.json", replace(read_record(run / "spec.json", RunSpec), clock=clocks[0]))
    write_record(run / "clock.json", clocks[1])


def _broken(run, rule):
    return result_of(judge_run(run), rule)


def test_a_run_between_its_nonce_and_its_collection_is_a_pass(clean_run):
    _placed(clean_run)
    assert judge_run(clean_run).verdict == "PASS"


@pytest.mark.parametrize(
    ("before_s", "after_s"), [(-2160, 3600), (1, -25), (3600, -10)], ids=["before", "longer", "after"]
)
def test_a_run_of_before_its_nonce_or_after_its_collection_is_no_pass(golden, clean_run, before_s, after_s):
    _placed(clean_run, before_s=before_s, after_s=after_s)
    assert judge_run(clean_run).verdict == "UNPROVEN"
    golden(_broken(clean_run, "made_under_its_nonce").message)


def test_what_macos_leaves_beside_each_file_changes_nothing(clean_run):
    _placed(clean_run)
    for path in [path for path in clean_run.rglob("*") if path.is_file()]:
        path.with_name(f"._{path.name}").write_bytes(b"\0\5\x16\7\0\2")
    assert judge_run(clean_run).verdict == "PASS"


def test_ends_of_lines_as_windows_has_them_change_nothing(clean_run):
    _placed(clean_run)
    for path in clean_run.rglob("*.log"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert judge_run(clean_run).verdict == "PASS"


@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize(
    "offsets",
    [(7200.0, 7200.0), (-7200.0, -7200.0), (3600.0, 0.0), (0.0, 3600.0), (-3600.0, 0.0), (0.0, -3600.0)],
)
def test_a_host_whose_clock_is_wrong_or_was_set_before_or_after_its_run_has_a_pass(clean_run, offsets, by):
    _placed(clean_run, offsets=offsets, by=by)
    assert judge_run(clean_run).verdict == "PASS"


def test_a_slow_network_and_a_controller_that_was_away_are_no_fault(clean_run):
    _placed(clean_run, before_s=86_400, after_s=86_400)
    assert judge_run(clean_run).verdict == "PASS"
    spec = read_record(clean_run / "spec.json", RunSpec)
    write_record(clean_run / "spec.json", replace(spec, clock=replace(spec.clock, error_s=30.0)))
    assert judge_run(clean_run).verdict == "PASS"


def test_a_node_of_slurm_may_have_another_clock_as_far_as_munge_lets_it(clean_run):
    slurm = Allocation(room="slurm", partition="gpu", nodes=1, time="01:00:00")
    write_record(
        clean_run / "spec.json", replace(read_record(clean_run / "spec.json", RunSpec), allocation=slurm)
    )
    _placed(clean_run, before_s=-200)
    assert _broken(clean_run, "made_under_its_nonce").state == "holds"
    _placed(clean_run, before_s=-400)
    assert _broken(clean_run, "made_under_its_nonce").state == "unknown"


def test_time_in_a_queue_counts(clean_run):
    _placed(clean_run, before_s=60)
    ended = read_record(clean_run / "ended.json", RunEnd)
    write_record(clean_run / "ended.json", replace(ended, waited_s=55.0))
    assert judge_run(clean_run).verdict == "PASS"
    write_record(clean_run / "ended.json", replace(ended, waited_s=5500.0))
    assert judge_run(clean_run).verdict == "UNPROVEN"


def test_a_clock_that_is_no_record_proves_nothing(clean_run):
    _placed(clean_run)
    (clean_run / "clock.json").write_text("{}")
    assert judge_run(clean_run).verdict == "UNPROVEN"


def test_a_host_that_was_measured_before_its_nonce_was_not_measured_for_it(recordings):
    run = recordings / "acceptance" / "h200-x2"
    spec = read_record(run / "spec.json", RunSpec)
    now = Clock(offset_s=0.0, error_s=0.05, asked=format_time(datetime.now(timezone.utc)))
    verdict = judge_run(run, replace(spec, clock=replace(now, asked="2026-11-24T09:00:00Z")))
    assert verdict.verdict == "UNPROVEN"
    assert "older run" in verdict.cause


@pytest.fixture
def sent(clean_run):
    """Have the run be one whose files are as they were sent, with the copies that NVFlare makes of them."""
    for name, content in CODE.items():
        for path in (clean_run / "job" / name, clean_run / COPY / name):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    _sends(clean_run, {name: hashlib.sha256(content).hexdigest() for name, content in CODE.items()})
    return clean_run


def _sends(run, files):
    write_record(run / "spec.json", replace(read_record(run / "spec.json", RunSpec), files=files))


def test_files_that_are_as_they_were_sent_are_a_pass(sent):
    (sent / "job" / "data.bin").write_bytes(b"made by the job")
    (sent / COPY / "other.py").write_text("NVFlare's own")
    assert judge_run(sent).verdict == "PASS"


@pytest.mark.parametrize("name", ["job/client.py", "job/nets/model.py", f"{COPY}/client.py"])
def test_a_file_that_was_exchanged_is_named(sent, name):
    (sent / name).write_text("cheat()\n")
    verdict = judge_run(sent)
    assert verdict.verdict == "UNPROVEN"
    assert verdict.cause.startswith(name)
    assert "is not the file that was sent" in verdict.cause


def test_a_file_that_is_missing_or_became_a_link_is_named(sent):
    (sent / "job/job.py").unlink()
    assert judge_run(sent).cause == "job/job.py was sent and is missing from the run."
    (sent / "job/job.py").symlink_to("client.py")
    assert judge_run(sent).verdict == "UNPROVEN"


def test_a_file_that_grew_until_it_stays_on_the_host_is_named(sent):
    (sent / "job/client.py").unlink()
    left = {"schema": "rekindle/left/1", "files": {"job/client.py": "it has more than 16777216 bytes"}}
    (sent / "left.json").write_text(json.dumps(left))
    assert judge_run(sent).cause == "job/client.py was sent and is missing from the run."


def test_a_file_too_large_to_be_collected_is_named_and_is_no_fault(sent):
    _sends(sent, {**read_record(sent / "spec.json", RunSpec).files, "data.bin": ""})
    assert judge_run(sent).verdict == "PASS"
    assert "Too large to be collected and compared: data.bin." in _broken(sent, "files_are_as_sent").message
    with (sent / "job/data.bin").open("wb") as file:
        file.truncate(FILE_LIMIT + 1)
    assert judge_run(sent).verdict == "PASS"
    (sent / "job/data.bin").write_bytes(b"small")
    assert "Data that is not as it was sent: data.bin." in _broken(sent, "files_are_as_sent").message


def test_data_that_the_job_wrote_anew_or_removed_is_named_and_is_no_fault(sent):
    _sends(
        sent,
        {**read_record(sent / "spec.json", RunSpec).files, "results.csv": "0" * 64, "old.json": "0" * 64},
    )
    (sent / "job/results.csv").write_text("loss\n0.1\n")
    (sent / COPY / "results.csv").write_text("loss\n0.1\n")
    assert judge_run(sent).verdict == "PASS"
    named = _broken(sent, "files_are_as_sent").message
    assert named == "Data that is not as it was sent: old.json, results.csv."


def test_settings_that_differ_are_a_doubt(sent):
    _sends(sent, {**read_record(sent / "spec.json", RunSpec).files, "rates.yml": "0" * 64})
    (sent / "job/rates.yml").write_text("rate: 0.1\n")
    assert _broken(sent, "files_are_as_sent").message == "job/rates.yml is not the file that was sent."


def test_code_that_nobody_sent_is_named(sent):
    (sent / "job/torch.py").write_text("")
    assert judge_run(sent).verdict == "PASS"
    message = "Code in the job's folder that was not sent: torch.py."
    assert _broken(sent, "files_are_as_sent").message == message


def test_an_older_run_is_exempt(clean_run):
    for rule in ("made_under_its_nonce", "files_are_as_sent"):
        assert _broken(clean_run, rule).state == "not applicable"
