# SPDX-License-Identifier: Apache-2.0
"""Seals: what was altered in results since they were judged is named, whatever it is."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from samples.edits import edit

from rekindle.host import files, storage
from rekindle.records import Complaint, RunSpec, VerdictRecord, read_record
from rekindle.results import journal, seal, signature, state


@pytest.fixture
def run(bring, tmp_path):
    folder = bring(tmp_path / "results")
    seal.seal_folder(tmp_path / "results", None)
    return folder


REST = "All other files are as they were sealed at "


@pytest.fixture
def verify(run, call):
    """Call ``rekindle verify``; return its status and output but for the line on what is as it was."""

    def ask(*more, results=run.parents[1]):
        status, out, err = call("verify", results, *more)
        lines = (out + err).splitlines(keepends=True)
        return status, "".join(line for line in lines if not line.startswith(REST))

    return ask


def test_judge_goes_by_the_spec_that_was_sent(run, call):
    assert call("judge", run)[0] == 0
    edit(run / "spec.json", r'"at_least": 0.95', '"at_least": 0.1')
    status, out, _ = call("judge", run)
    assert (status, "job of its spec.json differ" in out) == (1, True)


def test_a_run_of_many_files_is_sealed_as_well(clean_run, bring, run, verify):
    (clean_run / "more").mkdir()
    for number in range(500):
        (clean_run / "more" / f"{number}.txt").write_text(str(number))
    bring(run.parents[1])
    seal.seal_folder(run.parents[1], None)
    status, output = verify()
    assert status == 0, output


def test_the_seal_is_a_list_of_digests_for_sha256sum_and_the_verdict_names_the_run(run):
    results = run.parents[1]
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=results, capture_output=True, check=False
    )
    checked = {line.removesuffix(": OK") for line in done.stdout.decode().splitlines()}
    here = {path.relative_to(results).as_posix() for path in results.rglob("*") if path.is_file()}
    assert (done.returncode, checked) == (0, here - {*SEAL})
    assert (
        read_record(run / "verdict.json", VerdictRecord).nonce
        == read_record(run / "spec.json", RunSpec).nonce
    )


def test_the_key_is_its_owners_alone_and_made_once(run, tmp_path):
    key = tmp_path / "state/rekindle/key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert state.provide_key() == key.read_bytes() == state.provide_key()
    assert signature.parse_public_key(key.with_name("key.pub").read_bytes()) == state.find_public_key()
    assert not [
        path for path in run.parents[1].rglob("*") if path.is_file() and b"PRIVATE" in path.read_bytes()
    ]


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


FILES = ["evidence/site-1.rank-0.jsonl", "job/workspace/pt_ddp/server/log.txt", "verdict.json", "spec.json"]


@pytest.mark.parametrize("name", FILES)
def test_a_byte_that_was_altered_and_a_file_that_was_removed_are_named(run, verify, name):
    _flip(run / name)
    assert verify() == (1, f"gpu-1/pt_ddp/{name} was altered.\n")
    (run / name).unlink()
    assert verify() == (1, f"gpu-1/pt_ddp/{name} is missing.\n")


def test_files_that_were_added_are_named_and_not_opened_nor_obeyed(run, verify, tmp_path):
    (run / "evidence/more.jsonl").write_text("")
    (run / "link").symlink_to(tmp_path)
    os.mkfifo(run / "pipe")
    (run / "\x1b[2Jx").write_text("")
    names = (
        r"'gpu-1/pt_ddp/\x1b[2Jx'",
        *(f"gpu-1/pt_ddp/{name}" for name in ("evidence/more.jsonl", "link", "pipe")),
    )
    assert verify() == (1, "".join(f"{name} was added.\n" for name in names))


def test_one_file_that_cannot_be_read_hides_no_other(run, verify, monkeypatch):
    def digest(path):
        if path.name == "job.log":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return digest_file(path)

    digest_file = files.digest_file
    monkeypatch.setattr(files, "digest_file", digest)
    (run / "more").write_text("")
    said = "gpu-1/pt_ddp/job.log cannot be read: Permission denied.\ngpu-1/pt_ddp/more was added.\n"
    assert verify() == (1, said)


def test_a_folder_that_cannot_be_read_is_told_instead_of_what_is_in_it(run, verify, monkeypatch):
    def walk(top, onerror=None):
        for base, inner, names in os_walk(top):
            if Path(base).name == "evidence":
                onerror(PermissionError(errno.EACCES, os.strerror(errno.EACCES), base))
            else:
                yield base, inner, names

    os_walk = os.walk
    monkeypatch.setattr(os, "walk", walk)
    assert verify() == (1, "gpu-1/pt_ddp/evidence cannot be read: Permission denied.\n")


def test_a_lock_that_another_process_keeps_is_not_waited_for_without_end(run, verify, monkeypatch):
    monkeypatch.setattr("rekindle.cli.verify._LOCKED_S", 0.1)
    with storage.lock_folder(run.parents[1]):
        status, said = verify()
    assert (status, "has held" in said, "Fix: end the playbook" in said) == (2, True, True)
    assert verify()[0] == 0


def test_an_incomplete_file_is_named_unless_it_is_the_next_one_of_another(run, verify):
    (run / ".job.log.abcd_123").write_text("")
    assert verify()[0] == 0
    (run / ".x.abcd_123").write_text("")
    assert verify() == (1, "gpu-1/pt_ddp/.x.abcd_123 was added.\n")


def test_earlier_runs_that_are_gone_are_named(run, verify):
    seal.set_run_aside(run)
    (run.parent / "pt_ddp.placed.json").unlink()
    shutil.rmtree(run.parent / "earlier")
    status, said = verify()
    assert (status, said.splitlines()[0]) == (1, "gpu-1/earlier/ is missing.")


def test_a_file_that_became_a_link_to_the_same_is_altered(run, verify, tmp_path):
    (run / "spec.json").rename(tmp_path / "spec.json")
    (run / "spec.json").symlink_to(tmp_path / "spec.json")
    assert verify() == (1, "gpu-1/pt_ddp/spec.json was altered.\n")


def test_runs_that_were_swapped_are_named(run, verify, bring, tmp_path):
    other = bring(run.parents[1], "gpu-2")
    seal.seal_folder(run.parents[1], None)
    assert verify()[0] == 0
    for source, target in ((run, tmp_path / "aside"), (other, run), (tmp_path / "aside", other)):
        source.rename(target)
    status, output = verify()
    assert status == 1
    assert {"gpu-1/pt_ddp/spec.json was altered.", "gpu-2/pt_ddp/spec.json was altered."} <= {
        *output.splitlines()
    }


def test_an_older_seal_does_not_fit(run, verify, bring):
    results = run.parents[1]
    before = {name: (results / name).read_bytes() for name in SEAL}
    bring(results, failed=True)
    for name, content in before.items():
        (results / name).write_bytes(content)
    status, output = verify()
    assert status == 1
    assert "gpu-1/pt_ddp/spec.json was altered." in output


SEAL = ("SHA256SUMS", "SHA256SUMS.sig")


def _forge(run, tmp_path, monkeypatch):
    """Alter a run, and seal it again as somebody else."""
    _flip(run / "evidence/site-1.rank-0.jsonl")
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "forger"))
        seal.seal_run(run)
        seal.seal_folder(run.parents[1], None)
        return signature.format_fingerprint(state.find_public_key())


def test_a_seal_by_another_key_is_no_seal(run, verify, tmp_path, monkeypatch):
    forger = _forge(run, tmp_path, monkeypatch)
    status, output = verify()
    assert (status, output.count("\n")) == (1, 1)
    assert output.startswith(f"{run.parents[1]} was sealed by another key, {forger}. Fix: ")


def test_another_person_checks_with_the_public_key(run, verify, tmp_path, monkeypatch):
    genuine = tmp_path / "state/rekindle/key.pub"
    mine = signature.format_fingerprint(state.find_public_key())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    status, output = verify()
    assert status == 0
    assert f"They were sealed by the key {mine}: only its owner knows " in output
    assert verify("--key", genuine)[0] == 0
    forger = _forge(run, tmp_path, monkeypatch)
    status, output = verify()
    assert (status, f"by the key {forger}: " in output) == (0, True)  # which is what that sentence is about
    assert verify("--key", genuine)[0] == 1
    state.provide_key()
    assert verify()[0] == 1


NO_FIT = "SHA256SUMS was altered, or its signature was: they do not fit each other."
DAMAGE = {
    "half": ("SHA256SUMS.sig", lambda text: text[: len(text) // 2], NO_FIT),
    "empty": ("SHA256SUMS.sig", lambda text: "", NO_FIT),
    "no list": ("SHA256SUMS", lambda text: "", NO_FIT),
    "another digest": ("SHA256SUMS", lambda text: "0" * 64 + text[64:], NO_FIT),
    "no signature": ("SHA256SUMS.sig", None, "somebody removed SHA256SUMS or SHA256SUMS.sig."),
    "no digests": ("SHA256SUMS", None, "somebody removed SHA256SUMS or SHA256SUMS.sig."),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_broken_seal_is_named(run, verify, damage):
    name, change, message = DAMAGE[damage]
    path = run.parents[1] / name
    if change:
        path.write_text(change(path.read_text()))
    else:
        path.unlink()
    status, output = verify()
    assert (status, output.count("\n")) == (1, 1)
    assert message in output


def test_a_seal_that_is_a_pipe_is_not_waited_for(run, verify):
    path = run.parents[1] / "SHA256SUMS"
    path.unlink()
    os.mkfifo(path)
    assert verify() == (
        1,
        f"The seal of {path.parent} cannot be read: it is no regular file ({path}). Fix: run the same "
        "command again, which collects and seals its runs.\n",
    )


def test_a_run_that_is_not_sealed_is_named(run, verify):
    shutil.copytree(run, run.with_name("other"))
    assert verify() == (1, "gpu-1/other is not sealed.\ngpu-1/pt_ddp is as it was sealed: PASS.\n")


def test_a_run_that_was_never_collected_is_named_with_why(run, verify):
    placed = run.with_name("pt_ddp.placed.json")
    shutil.copy(placed, run.with_name("other.placed.json"))
    seal.seal_folder(run.parents[1], None)
    status, output = verify()
    assert status == 1
    assert output.startswith("gpu-1/other was placed on its host, and was never collected.\n")
    journal.note_left(
        run.parents[1],
        "gpu-1",
        "validate",
        "unreachable",
        Complaint.parse("It vanished. Fix: lease another."),
    )
    seal.seal_folder(run.parents[1], None)
    status, output = verify()
    assert status == 0
    assert output.startswith("gpu-1/other was never collected: It vanished. Fix: lease another.\n")


def test_a_run_that_was_removed_is_missing_though_its_host_left(run, verify):
    journal.note_left(run.parents[1], "gpu-1", "validate", "failed", Complaint.parse("No. Fix: x."))
    shutil.rmtree(run)
    status, output = verify()
    assert status == 1
    assert "gpu-1/pt_ddp/ is missing." in output.splitlines()


def test_a_folder_beside_results_names_them(run, verify):
    (run.parents[1] / "run.json").touch()
    for folder in (run, run.parent, run.parents[2]):
        status, output = verify(results=folder)
        assert (status, f"has no run. Fix: name {run.parents[1]}." in output) == (2, True)


def test_called_wrongly_is_status_2(run, verify, tmp_path):
    (tmp_path / "empty").mkdir()
    wrong = (["--key", __file__], run.parents[1])
    for more, results in (([], tmp_path / "empty"), ([], tmp_path / "none"), wrong):
        status, output = verify(*more, results=results)
        assert status == 2
        assert output.count("Fix:") == 1
