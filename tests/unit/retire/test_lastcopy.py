# SPDX-License-Identifier: Apache-2.0
"""The last copy on the controller: the host's answer is checked, and it is a capsule again."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace
from samples.edits import under
from samples.hosts import built

from rekindle import capsule, locks
from rekindle.records import Clock, EnvRecord, RecordError, RetiredRecord, RunEnd, RunSpec, read_record
from rekindle.results import state
from rekindle.retire import lastcopy

LOCK = "torch==9.9.9 \\\n    --hash=sha256:" + "0" * 64 + "\n"
RUNS = Path(__file__).parents[2] / "recordings" / "runs"


@pytest.fixture(autouse=True)
def sent():
    state.keep_sent_lock(LOCK)


def built_from(framework, lock, text, when, lock_text=None):
    digest = hashlib.sha256(text.encode()).hexdigest()
    environment = built(framework=framework, lock=lock, lock_sha256=digest, built=when)
    return {"environment": environment, "lock_text": text if lock_text is None else lock_text}


def answer(**more):
    sums = {"verdict.json": hashlib.sha256(b"{}").hexdigest()}
    run = {"name": "runs/toy-0123456789ab", "archive": "1.tar.gz", "files": sums, "left": {"model.pt": 5}}
    environments = [built_from("torch", "torch-9.9.9-cpu-py311.txt", LOCK, "2026-11-21T02:00:00Z")]
    place = {"place": "/tmp/rekindle-0123456789abcdef", "root": "/r"}
    return {**place, "parts": [run], "environments": environments, **more}


def bring(home, content="{}"):
    run = home / "retired/runs/toy-0123456789ab"
    run.mkdir(parents=True, exist_ok=True)
    (run / "verdict.json").write_text(content)
    return run


def _part(name="logs", archive="1.tar.gz"):
    return {"parts": [{"name": name, "archive": archive, "files": {}, "left": {}}]}


NAMES = ["runs/../../../x", "/etc/x", "..", "runs/..", "runs/a/b", "envs/x", "runs/", "runs/-\n/x", "logs\n"]
PLACES = ["/tmp/x", "tmp/{}", "/tmp/{}\n!id", '/tmp/"!id"/{}', "/tmp/{}\n"]
LOCKS = ["../../x.txt", "/etc/passwd", "..", ""]


@pytest.mark.parametrize(
    "answer",
    [
        *(answer(**_part(name=name)) for name in NAMES),
        *(answer(**_part(archive=archive)) for archive in ("../x.tar.gz", "/etc/passwd", "x", "1.tar.gz\n")),
        *(answer(place=place.format("rekindle-0123456789abcdef")) for place in PLACES),
        *(answer(environments=[built_from("torch", lock, LOCK, "2026-11-21T02:00:00Z")]) for lock in LOCKS),
        {},
        {"parts": 1},
        answer(environments=[{}]),
    ],
)
def test_no_answer_names_a_place_outside_or_a_command(answer):
    with pytest.raises(RecordError, match=r"packed something else than it was asked for: .* Fix: "):
        lastcopy.check_answer(answer)


@pytest.mark.parametrize("damage", ["other", "missing", "more"])
def test_a_copy_that_is_not_the_hosts_is_refused(tmp_path, damage):
    (part,) = lastcopy.check_answer(answer()).parts
    lastcopy.check_copy(part, bring(tmp_path))
    run = bring(tmp_path, "{ }" if damage == "other" else "{}")
    if damage == "missing":
        (run / "verdict.json").unlink()
    if damage == "more":
        (run / "x").write_text("")
    with pytest.raises(RecordError, match=r"is not the host's, and nothing was removed there\. Fix: "):
        lastcopy.check_copy(part, run)


def test_the_copy_is_a_capsule_also_of_sent_locks_that_are_not_ours(tmp_path):
    lastcopy.keep_copy(lastcopy.check_answer(answer()), "gpu-1", tmp_path)
    kept = tmp_path / "retired"
    (environment,) = read_record(kept / "env.json", EnvRecord).environments
    assert capsule.list_frameworks(kept) == {"torch": "9.9.9"}
    assert capsule.find_lock(environment.lock, environment.lock_sha256, kept) == LOCK


def test_of_an_environment_that_did_not_keep_its_lock_ours_is_taken(tmp_path):
    own = locks.read_lock("driver.txt")
    environments = [built_from("driver", "driver.txt", own, "2026-11-21T02:00:00Z", lock_text="")]
    lastcopy.keep_copy(lastcopy.check_answer(answer(environments=environments)), "gpu-1", tmp_path)
    assert (tmp_path / "retired/locks/driver.txt").read_text() == own


@pytest.mark.parametrize("evil", ["--index-url https://198.51.100.7/i\n", "x @ https://198.51.100.7/x\n", ""])
def test_a_lock_that_a_host_has_altered_is_refused(tmp_path, evil):
    environments = [
        built_from("torch", "torch-9.9.9-cpu-py311.txt", LOCK + evil + "# altered\n", "2026-11-21T02:00:00Z")
    ]
    with pytest.raises(RecordError, match=r"The lock torch-9\.9\.9-cpu-py311\.txt .* never sent .* Fix: "):
        lastcopy.keep_copy(lastcopy.check_answer(answer(environments=environments)), "gpu-1", tmp_path)
    assert not list(tmp_path.rglob("*.txt"))
    assert not (tmp_path / "retired.json").exists()


def test_a_hosts_text_of_a_lock_is_nowhere_taken(tmp_path):
    evil = built_from(
        "torch",
        "torch-9.9.9-cpu-py311.txt",
        LOCK,
        "2026-11-21T02:00:00Z",
        lock_text="-i https://198.51.100.7",
    )
    lastcopy.keep_copy(lastcopy.check_answer(answer(environments=[evil])), "gpu-1", tmp_path)
    assert (tmp_path / "retired/locks/torch-9.9.9-cpu-py311.txt").read_text() == LOCK


@pytest.mark.parametrize(
    ("alter", "judged"), [(None, "PASS"), ("ended.json", "UNPROVEN"), ("spec.json", "UNPROVEN")]
)
def test_a_last_copy_is_judged_here_by_what_was_sent(tmp_path, alter, judged):
    spec = read_record(RUNS / "pt_ddp-cpu-2" / "spec.json", RunSpec)
    run = tmp_path / "retired" / "runs" / "pt_ddp-0123456789ab"
    shutil.copytree(RUNS / "pt_ddp-cpu-2", run)
    clock = Clock(offset_s=0.0, error_s=0.1, asked=read_record(run / "ended.json", RunEnd).started)
    sent = replace(spec, host="gpu-9", clock=clock)
    spec = state.agree_nonce(f"/r/runs/{run.name}", sent, again=False)
    state.keep_spec(f"/r/runs/{run.name}", spec)
    under(run, spec)
    if alter:
        (run / alter).unlink()
    lastcopy.keep_copy(lastcopy.check_answer(answer(parts=[])), "gpu-9", tmp_path)
    assert read_record(tmp_path / "retired.json", RetiredRecord).runs == {run.name: judged}


def test_a_run_that_was_not_sent_from_here_has_no_verdict(tmp_path):
    shutil.copytree(RUNS / "pt_ddp-cpu-2", tmp_path / "retired" / "runs" / "pt_ddp-ba9876543210")
    lastcopy.keep_copy(lastcopy.check_answer(answer(parts=[])), "gpu-9", tmp_path)
    assert read_record(tmp_path / "retired.json", RetiredRecord).runs == {"pt_ddp-ba9876543210": ""}


def test_of_two_environments_for_a_framework_the_later_one_is_kept(tmp_path):
    times = {"torch-1.txt": "2026-11-21T03:00:00Z", "torch-2.txt": "2026-11-21T02:00:00Z"}
    environments = [built_from("torch", lock, LOCK, when) for lock, when in times.items()]
    lastcopy.keep_copy(lastcopy.check_answer(answer(environments=environments)), "gpu-1", tmp_path)
    assert read_record(tmp_path / "retired.json", RetiredRecord).environments == ("torch-1.txt",)


def test_what_an_interrupted_removal_had_brought_home_still_counts(tmp_path):
    bring(tmp_path)
    lastcopy.keep_copy(lastcopy.check_answer(answer()), "gpu-1", tmp_path)
    first = read_record(tmp_path / "retired.json", RetiredRecord)
    assert (first.retired, first.runs, first.files) == (None, {"toy-0123456789ab": ""}, 1)
    assert first.left == {"runs/toy-0123456789ab/model.pt": 5}
    lastcopy.keep_copy(lastcopy.check_answer(answer(parts=[], environments=[])), "gpu-1", tmp_path)
    assert read_record(tmp_path / "retired.json", RetiredRecord) == first
    lastcopy.note_removed("gpu-1", tmp_path)
    second = read_record(tmp_path / "retired.json", RetiredRecord)
    assert second.retired is not None
    assert second.runs == first.runs
    content = (tmp_path / "retired.json").read_bytes()
    lastcopy.note_removed("gpu-1", tmp_path)
    assert (tmp_path / "retired.json").read_bytes() == content


def test_a_host_with_nothing_on_it_is_noted_as_such(tmp_path):
    lastcopy.note_removed("gpu-1", tmp_path)
    record = json.loads((tmp_path / "retired.json").read_text())
    assert (record["host"], record["runs"], record["files"]) == ("gpu-1", {}, 0)
