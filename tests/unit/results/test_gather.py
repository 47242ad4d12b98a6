# SPDX-License-Identifier: Apache-2.0
"""Every gap and every broken record becomes a row that is not green."""

import json

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, LEFT, NOTHING, NOW, PASS, PLAN, add_host, fill, rows, three_hosts

from rekindle.records import Device, RecordError, RetiredRecord, write_record
from rekindle.results.contents import gather_results
from rekindle.results.row import Row

TWO = replace(PLAN, jobs=("pt_ddp", "tf_mirrored"))
LOST = {"left": LEFT, "state": "unreachable"}
LATE = replace(FAIL, verdict="SKIPPED", cause="It takes 60 s and 5 s are left.")
KEPT = RetiredRecord(
    host="gpu-1",
    retired=NOW,
    environments=("torch.txt",),
    runs={"pt_ddp-0123456789ab": "PASS", "llm_sft-0123456789ab": ""},
    files=7,
    left={"runs/llm_sft-0123456789ab/model.pt": 498_000_000},
)
EMPTY = RetiredRecord(host="gpu-1", retired=NOW)
CASES = {
    "nothing collected": (NOTHING, "host SKIPPED"),
    "left, of two jobs one collected": ({"plan": TWO, "left": LEFT}, "pt_ddp PASS, tf_mirrored SKIPPED"),
    "left before its plan": ({**NOTHING, "left": LEFT}, "host SKIPPED"),
    "left after an earlier pass": ({"left": LEFT}, "pt_ddp PASS, host SKIPPED"),
    "no plan": ({"plan": None}, "pt_ddp PASS, host SKIPPED"),
    "a plan without jobs": ({"plan": replace(PLAN, jobs=()), "verdict": None}, "host SKIPPED"),
    "lost, of two jobs one collected": ({"plan": TWO, **LOST}, "pt_ddp PASS, tf_mirrored LOST"),
    "lost after a failure": ({"plan": TWO, "verdict": FAIL, **LOST}, "pt_ddp FAIL, tf_mirrored LOST"),
    "lost with every verdict collected": (LOST, "pt_ddp PASS, host LOST"),
    "lost with a failure collected": ({"verdict": FAIL, **LOST}, "pt_ddp FAIL, host LOST"),
    "lost before its plan": ({"plan": None, "verdict": None, **LOST}, "host LOST"),
    "lost, and no time for a job": (
        {"plan": TWO, "verdict": LATE, **LOST},
        "pt_ddp SKIPPED, tf_mirrored LOST",
    ),
    "never reached": ({**NOTHING, **LOST}, "host SKIPPED"),
    "preflight is ready": ({"verdict": None, "asked": "preflight"}, "host READY"),
    "plan is ready": ({"verdict": None, "asked": "plan"}, "host READY"),
    "environments are no job": ({"verdict": None, "asked": "environments"}, "pt_ddp SKIPPED"),
    "validate": ({"verdict": None, "asked": "validate"}, "pt_ddp SKIPPED"),
    "collect": ({"verdict": None, "asked": "collect"}, "pt_ddp SKIPPED"),
    "no GPUs to accept": ({"verdict": None, "asked": "accept"}, "host READY"),
    "left preflight": ({"plan": None, "verdict": None, "left": LEFT, "asked": "preflight"}, "host SKIPPED"),
    "planned again": ({"verdict": FAIL, "asked": "plan"}, "pt_ddp FAIL"),
    "retired": ({**NOTHING, "retired": KEPT}, "host RETIRED"),
    "retired with nothing": ({**NOTHING, "retired": EMPTY}, "host RETIRED"),
    "retired after a failure": ({**NOTHING, "verdict": FAIL, "retired": KEPT}, "pt_ddp FAIL, host RETIRED"),
    "half removed": ({**NOTHING, "left": LEFT, "retired": replace(KEPT, retired=None)}, "host SKIPPED"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_host_that_proved_less_than_everything_has_rows_with_their_cause(golden, tmp_path, name):
    records, expected = CASES[name]
    asked = {"gpu-1": records["asked"]} if "asked" in records else {}
    fill(tmp_path, "gpu-1", asked=asked)
    kept = {name: record for name, record in records.items() if name not in {"asked", "retired"}}
    add_host(tmp_path, "gpu-1", **kept)
    if "retired" in records:
        write_record(tmp_path / "gpu-1" / "retired.json", records["retired"])
    results = gather_results(tmp_path)
    assert not results.passed
    assert ", ".join(f"{row.job or 'host'} {row.kind}" for row in results.rows) == expected
    golden(*(row.cause for row in results.rows if row.cause))


def test_only_if_every_required_row_is_a_pass_it_passed(tmp_path):
    assert rows(three_hosts(tmp_path)) == [
        ("gpu-1", "pt_ddp", "PASS"),
        ("gpu-2", "pt_ddp", "FAIL"),
        ("gpu-3", None, "SKIPPED"),
    ]
    fill(tmp_path, "gpu-1", "gpu-2")
    for kind in ("FAIL", "HUNG", "UNPROVEN", "UNSUPPORTED", "SKIPPED", "KNOWN_ISSUE"):
        add_host(tmp_path, "gpu-2", verdict=replace(FAIL, verdict=kind))
        assert not gather_results(tmp_path).passed
    add_host(tmp_path, "gpu-2", verdict=replace(FAIL, required=False))
    assert gather_results(tmp_path).passed
    assert not gather_results(fill(tmp_path, "gpu-2")).passed  # which nobody requires
    write_record(tmp_path / "gpu-1" / "retired.json", KEPT)
    assert gather_results(fill(tmp_path, "gpu-1")).passed
    assert not gather_results(fill(tmp_path)).passed
    assert gather_results(tmp_path).rows == ()


def _folder(path):
    path.unlink()
    path.mkdir()


def _dangling(path):
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


SPOILT = [b"", b"{", b"\xff\xfe", b"[]", b'{"schema": "rekindle/other/1"}']


@pytest.mark.parametrize(
    "file", ["host.json", "plan.json", "env.json", "outcome.json", "pt_ddp/verdict.json"]
)
def test_an_unreadable_record_is_an_unproven_row_and_leaves_the_other_hosts(tmp_path, file):
    add_host(fill(tmp_path, "gpu-1", "gpu-2"), "gpu-1")
    add_host(tmp_path, "gpu-2")
    path = tmp_path / "gpu-1" / file
    spoils = [lambda path, content=content: path.write_bytes(content) for content in SPOILT]
    for spoil in (*spoils, _dangling, _folder):
        path.touch()
        spoil(path)
        results = gather_results(tmp_path)
        (row,) = [row for row in results.rows if row.kind == "UNPROVEN"]
        assert file in row.cause
        assert "Fix: " in row.cause
        assert not results.passed
        assert rows(tmp_path)[-1] == ("gpu-2", "pt_ddp", "PASS")


@pytest.mark.parametrize("content", [None, "{", json.dumps({"run": "r"})])
def test_no_results_folder_is_one_sentence(golden, tmp_path, content):
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(RecordError) as error:
        gather_results(tmp_path)
    golden(str(error.value))


def test_gpus_are_counted_by_uuid_and_not_by_rank():
    def gpus(*devices):
        given = [
            Device(site="site-1", rank=rank, device=device, uuid=uuid, name=name)
            for rank, (device, uuid, name) in enumerate(devices)
        ]
        return Row("h", "j", "PASS", None, replace(PASS, devices=tuple(given))).gpus

    assert gpus(*[("cuda:0", "GPU-a", "NVIDIA A30")] * 2) == "1 × NVIDIA A30"
    assert gpus(("cuda:0", None, None), ("cuda:1", None, None)) == "2 × GPU"
    assert gpus(("cpu", None, None)) == "CPU"
    assert gpus(("/device:CPU:0", None, None), ("/device:CPU:1", None, None)) == "CPU"
    assert gpus() == "–"


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "gpu-2"},
        {"job": "another"},
        {"evidence": ()},
        {"evidence": (replace(PASS.evidence[0], state="unknown"),)},
        {"evidence": (replace(PASS.evidence[0], state="fails"),)},
        {"started": None},
        {"duration_s": None},
        {"rounds": ()},
        {"cause": "It failed."},
        {"remedy": "Mend it."},
    ],
)
def test_a_pass_that_shows_nothing_or_is_of_another_is_none(tmp_path, changes):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    write_record(tmp_path / "gpu-1" / "pt_ddp" / "verdict.json", replace(PASS, **changes))
    results = gather_results(tmp_path)
    assert not results.passed
    assert [row.kind for row in results.rows] == ["UNPROVEN"]
    assert "Fix: " in results.rows[0].cause


def test_after_a_check_of_other_jobs_what_ran_is_shown_too(tmp_path):
    times = {"began": {"a": NOW}, "checked": {"a": "2026-11-21T08:00:00Z"}, "asked": {"a": "plan"}}
    add_host(fill(tmp_path, "a", **times), "a", plan=replace(PLAN, jobs=("llm_sft",)))
    assert rows(tmp_path) == [("a", "pt_ddp", "PASS"), ("a", "llm_sft", "SKIPPED")]
