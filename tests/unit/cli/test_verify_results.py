# SPDX-License-Identifier: Apache-2.0
"""The seal of a results folder: each file that was altered, added or removed since is named."""

import os
import shutil

import pytest
from samples.edits import edit

from rekindle.host import files
from rekindle.report.reports import write_reports
from rekindle.results import journal, seal

CODE = "rekindle-0123456789abcdef.zip"
RECORDS = ("host.json", "plan.json", "env.json")


def play(results, now, write_something, *, ends=True):
    """Do in a results folder what a playbook does there, which is killed unless it ``ends``."""
    before = seal.take_digests(results)
    journal.begin_play(results, "validate", ["gpu-1"], left=(), now=now)
    write_something()
    if ends:
        write_reports(results)
        seal.seal_folder(results, before)


@pytest.fixture
def results(bring, tmp_path, recordings):
    """Return the folder of a playbook that ended, with a run in it."""
    folder = tmp_path / "results"
    (folder / "gpu-1").mkdir(parents=True)
    for name in RECORDS:
        shutil.copy(recordings / "h200-x2" / name, folder / "gpu-1")
    play(folder, "2026-11-21T02:00:00Z", lambda: bring(folder))
    return folder


@pytest.fixture
def rekindle(call):
    """Call a verb of the command; returns its status and its lines."""

    def ask(verb, folder):
        status, out, err = call(verb, folder)
        return status, (out + err).splitlines()

    return ask


@pytest.fixture
def again(bring, results):
    """Return what runs and collects the folder's run again."""
    return lambda: bring(results, failed=True)


def altered(path):
    path.write_bytes(path.read_bytes() + b" ")


def test_a_folder_that_nobody_touched_is_as_it_was_sealed(results, rekindle):
    status, (run, rest) = rekindle("verify", results)
    assert status == 0
    assert run == "gpu-1/pt_ddp is as it was sealed: PASS."
    assert rest.startswith("All other files are as they were sealed at 20")


TOP = ("results.json", "report.html", "junit.xml", "run.json", f"payload/{CODE}")
EVERY = [*TOP, *(f"gpu-1/{name}" for name in (*RECORDS, "pt_ddp.placed.json"))]


@pytest.mark.parametrize("name", EVERY)
def test_a_file_that_was_altered_or_removed_is_named(results, rekindle, name):
    altered(results / name)
    status, lines = rekindle("verify", results)
    assert (status, len(lines)) == (1, 2)
    assert f"{name} was altered." in lines
    (results / name).unlink()
    status, lines = rekindle("verify", results)
    assert status == 1
    assert f"{name} is missing." in lines


def test_files_that_were_added_are_named_and_not_opened(results, rekindle, tmp_path):
    (results / "gpu-1/acceptance.json").write_text("{}")
    os.mkfifo(results / "gpu-1/pipe")
    (results / "gpu-2").mkdir()
    (results / "gpu-2/host.json").write_text("{}")
    (results / "link").symlink_to(tmp_path)
    (results / "older").mkdir()  # what says that it is a results folder of its own is none of this one's
    (results / "older/run.json").write_text("{}")
    (results / "older/one/two").mkdir(parents=True)
    for name in ("more", "less"):
        (results / "older/one" / name).write_text("")
    _, lines = rekindle("verify", results)
    added = [line.partition(" was added.")[0] for line in lines if line.endswith("was added.")]
    assert added == [
        "gpu-1/acceptance.json",
        "gpu-1/pipe",
        "gpu-2/host.json",
        "link",
        "older/one/",
        "older/run.json",
    ]


def test_another_run_s_folder_is_named(results, rekindle, again, tmp_path):
    first = shutil.copytree(results / "gpu-1", tmp_path / "first")
    play(results, "2026-11-21T03:00:00Z", again)
    assert rekindle("verify", results)[0] == 0
    shutil.rmtree(results / "gpu-1/pt_ddp")
    shutil.copytree(first / "pt_ddp", results / "gpu-1/pt_ddp")
    shutil.copy(first / "pt_ddp.placed.json", results / "gpu-1")
    status, lines = rekindle("verify", results)
    assert status == 1
    named = {"gpu-1/pt_ddp/verdict.json was altered.", "gpu-1/pt_ddp.placed.json was altered."}
    assert named <= {*lines}


def test_a_run_that_was_placed_again_and_not_collected_is_another(results, rekindle):
    def place_again():
        edit(results / "gpu-1/pt_ddp.placed.json", r'"nonce": "\w+"', '"nonce": "0123"')

    play(results, "2026-11-21T03:00:00Z", place_again)
    status, lines = rekindle("verify", results)
    assert status == 1
    assert lines[0].startswith("gpu-1/pt_ddp is another run than gpu-1/pt_ddp.placed.json asked for: their ")


def test_an_earlier_run_stays_with_its_verdict_and_alterations_in_it_are_named(results, rekindle, again):
    before = (results / "gpu-1/pt_ddp/spec.json").read_bytes()
    for hour in (3, 4):
        play(results, f"2026-11-21T0{hour}:00:00Z", again)
    earlier = results / "gpu-1/earlier"
    assert {path.name for path in earlier.iterdir()} == {"pt_ddp-1", "pt_ddp-2"}
    assert (earlier / "pt_ddp-1/spec.json").read_bytes() == before
    status, lines = rekindle("verify", results)
    assert (status, len(lines)) == (0, 4)
    assert lines[1] == "gpu-1/earlier/pt_ddp-2 is as it was sealed: PASS."
    altered(earlier / "pt_ddp-1/verdict.json")
    status, lines = rekindle("verify", results)
    assert status == 1
    assert lines[0] == "gpu-1/earlier/pt_ddp-1/verdict.json was altered."


def test_a_folder_that_is_used_twice_is_as_it_was_sealed_last(results, rekindle, again):
    play(results, "2026-11-21T03:00:00Z", again)
    play(results, "2026-11-21T04:00:00Z", lambda: altered(results / "gpu-1/host.json"))
    assert rekindle("verify", results)[0] == 0


@pytest.fixture
def differs(rekindle):
    """Return what returns the lines on what is not as it was sealed."""
    return lambda results: {line for line in rekindle("verify", results)[1] if " is as it was " not in line}


def test_what_was_altered_stays_so_through_reports_and_later_playbooks(results, rekindle, again, differs):
    altered(results / "gpu-1/plan.json")
    (results / "gpu-1/env.json").unlink()
    (results / "gpu-1/more").write_text("")
    named = {"gpu-1/plan.json was altered.", "gpu-1/env.json is missing.", "gpu-1/more was added."}
    rekindle("report", results)
    assert differs(results) == named
    play(results, "2026-11-21T03:00:00Z", again)
    assert differs(results) == named
    rewritten = lambda: (results / "gpu-1/plan.json").write_text("{}")  # noqa: E731 - what its stage does
    play(results, "2026-11-21T04:00:00Z", rewritten)
    assert differs(results) == named - {"gpu-1/plan.json was altered."}


def test_a_report_that_was_altered_is_written_again_without_judging(results, rekindle):
    (results / "results.json").write_text('{"rows": []}')
    status, lines = rekindle("report", results)
    assert status == 0
    assert lines[-2].startswith("Verdicts are as they were recorded and were not judged again: ")
    assert rekindle("verify", results)[0] == 0


def test_a_report_of_a_run_that_lies_alone_is_judged(results, rekindle, tmp_path):
    shutil.copytree(results / "gpu-1/pt_ddp", tmp_path / "alone")
    assert "not judged again" not in " ".join(rekindle("report", tmp_path / "alone")[1])


def test_a_playbook_that_was_killed_is_named_and_the_next_one_seals_all(results, rekindle):
    later = "2096-11-21T03:00:00Z"
    play(results, later, lambda: altered(results / "gpu-1/host.json"), ends=False)
    status, lines = rekindle("verify", results)
    assert status == 1
    assert lines[1].startswith(f"A playbook that began at {later} has not sealed the folder: it still runs ")
    rekindle("report", results)  # which is not for it to seal
    assert rekindle("verify", results)[0] == 1
    before = seal.take_digests(results)
    assert before is None
    journal.begin_play(results, "validate", ["gpu-1"], left=(), now="2026-11-21T04:00:00Z")
    write_reports(results)
    seal.seal_folder(results, before)
    assert rekindle("verify", results)[0] == 0


def test_the_first_playbook_has_sealed_its_runs_alone_until_it_ends(bring, rekindle, tmp_path):
    play(tmp_path / "new", "2026-11-21T02:00:00Z", lambda: bring(tmp_path / "new"), ends=False)
    status, lines = rekindle("verify", tmp_path / "new")
    assert (status, lines[0]) == (1, "gpu-1/pt_ddp is as it was sealed: PASS.")
    assert lines[1].startswith(
        "The first playbook in the folder still runs or was interrupted: only its runs "
    )


def test_two_playbooks_at_once_leave_nothing_altered(results, rekindle):
    first = seal.take_digests(results)
    altered(results / "gpu-1/host.json")
    second = seal.take_digests(results)
    altered(results / "gpu-1/plan.json")
    seal.seal_folder(results, first)
    altered(results / "gpu-1/env.json")
    seal.seal_folder(results, second)
    assert rekindle("verify", results)[0] == 0


def test_what_another_playbook_is_just_writing_is_no_part_of_it(results, rekindle, monkeypatch):
    digest = files.digest_file

    def vanishes(path):
        (results / "gpu-1/vanishing").unlink(missing_ok=True)
        return digest(path)

    partial = results / "gpu-1/.host.json.a1b2c3d4"
    for path in (partial, results / "gpu-1/vanishing"):
        path.touch()
    with monkeypatch.context() as patch:
        patch.setattr(files, "digest_file", vanishes)
        seal.seal_folder(results, None)
    partial.unlink()
    assert rekindle("verify", results)[0] == 0


@pytest.mark.parametrize("also", [(), ("run.json",)])
def test_a_seal_that_was_removed_is_named_and_its_runs_stay_unsealed_until_collected(
    results, rekindle, again, also
):
    for name in ("SHA256SUMS", "SHA256SUMS.sig", *also):
        (results / name).unlink()
    altered(results / "gpu-1/pt_ddp/verdict.json")
    status, lines = rekindle("verify", results)
    assert (status, len(lines)) == (1, 1)
    assert lines[0].startswith(
        f"{results} has no seal: a playbook still runs or was interrupted, or somebody "
    )
    if not also:
        rekindle("report", results)
    assert not (results / "SHA256SUMS").exists()
    play(results, "2026-11-21T03:00:00Z", lambda: None)
    assert "gpu-1/pt_ddp is not sealed." in rekindle("verify", results)[1]
    play(results, "2026-11-21T04:00:00Z", again)
    assert "gpu-1/pt_ddp is as it was sealed: PASS." in rekindle("verify", results)[1]


def test_a_run_that_was_altered_in_mid_play_stays_so(results, rekindle, again):
    def alter():
        again()
        altered(results / "gpu-1/pt_ddp/verdict.json")

    play(results, "2026-11-21T03:00:00Z", alter)
    assert "gpu-1/pt_ddp/verdict.json was altered." in rekindle("verify", results)[1]


def test_a_seal_by_another_key_is_none_and_vouches_for_nothing(results, rekindle, monkeypatch, tmp_path):
    altered(results / "gpu-1/host.json")
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "forger"))
        seal.seal_folder(results, None)
    status, lines = rekindle("verify", results)
    assert status == 1
    assert " was sealed by another key, SHA256:" in lines[0]
    before = seal.digest_files(results), (results / "SHA256SUMS").read_bytes()
    note = " ".join(rekindle("report", results)[1])
    assert " was sealed by another key, SHA256:" in note
    assert "Its reports are left as they are. " in note
    assert (seal.digest_files(results), (results / "SHA256SUMS").read_bytes()) == before
