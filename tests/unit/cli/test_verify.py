# SPDX-License-Identifier: Apache-2.0
"""Seals: what was altered in results since they were judged is named, whatever it is."""

import base64
import json
import os
import shutil

import pytest
from recorded_edits import edit

from rekindle.records import Complaint, RunSpec, read
from rekindle.report.reports import write_reports
from rekindle.results import journal, received, seal, sealing, state


@pytest.fixture
def run(bring, tmp_path):
    return bring(tmp_path / "results")


@pytest.fixture
def verify(run, call):
    """Call ``rekindle verify``; return its status and output."""

    def ask(*more, results=run.parents[1]):
        status, out, err = call("verify", results, *more)
        return status, out + err

    return ask


def test_what_nobody_touched_is_as_it_was_sealed(run, verify):
    status, output = verify()
    assert status == 0
    assert output.startswith("gpu-1/pt_ddp is as it was sealed at 20")
    assert output.endswith("Z: PASS.\n")


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
    status, output = verify()
    assert status == 0, output


def test_the_seal_states_what_was_judged_and_is_in_totos(run):
    envelope = json.loads(received.seal_of(run).read_text())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert {subject["name"] for subject in statement["subject"]} == {
        path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()
    }
    predicate = statement["predicate"]
    spec = read(run / "spec.json", RunSpec)
    assert (predicate["host"], predicate["job"], predicate["verdict"]) == ("gpu-1", "pt_ddp", "PASS")
    assert (predicate["nonce"], predicate["lock"]) == (spec.nonce, spec.lock_sha256)
    assert predicate["payload"] == "5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b"
    (pem,) = run.parent.glob("*.pem")
    assert seal.keyid(pem.read_bytes()) == envelope["signatures"][0]["keyid"]
    assert pem.stem == envelope["signatures"][0]["keyid"][:16]


def test_the_key_is_its_owners_alone_and_made_once(run, tmp_path):
    key = tmp_path / "state/rekindle/key.pem"
    assert key.stat().st_mode & 0o777 == 0o600
    assert state.key() == key.read_bytes() == state.key()
    assert "PRIVATE" not in "".join(path.read_text() for path in run.parent.glob("*.pem"))


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
    names = ("x", "evidence/more.jsonl", "link", "pipe")
    assert verify() == (1, "".join(f"gpu-1/pt_ddp/{name} was added.\n" for name in names))


def test_a_file_that_became_a_link_to_the_same_is_altered(run, verify, tmp_path):
    (run / "spec.json").rename(tmp_path / "spec.json")
    (run / "spec.json").symlink_to(tmp_path / "spec.json")
    assert verify() == (1, "gpu-1/pt_ddp/spec.json was altered.\n")


def test_swapped_seals_are_named(run, verify, bring):
    other = bring(run.parents[1], "gpu-2")
    first, second = received.seal_of(run), received.seal_of(other)
    texts = first.read_bytes(), second.read_bytes()
    assert verify()[0] == 0
    first.write_bytes(texts[1])
    second.write_bytes(texts[0])
    pairs = (("gpu-1", "gpu-2"), ("gpu-2", "gpu-1"))
    assert verify() == (1, "".join(f"{a}/pt_ddp: its seal is that of {b}/pt_ddp.\n" for a, b in pairs))


def test_an_older_seal_of_the_same_job_does_not_fit(run, verify, bring):
    before = received.seal_of(run).read_bytes()
    bring(run.parents[1], failed=True)
    received.seal_of(run).write_bytes(before)
    status, output = verify()
    assert status == 1
    assert "gpu-1/pt_ddp/spec.json was altered." in output


def _forge(run):
    """Alter a run, and seal it again with a key of the forger's, in the place of the controller's."""
    _flip(run / "evidence/site-1.rank-0.jsonl")
    (pem,) = run.parent.glob("*.pem")
    key = seal.new_key()
    predicate = seal.opened(received.seal_of(run).read_bytes(), [pem.read_bytes()]).predicate
    received.seal_of(run).write_bytes(seal.make(run, predicate, key))
    genuine = pem.read_bytes()
    pem.write_bytes(seal.public_key(key))
    return genuine


def test_a_seal_by_another_key_is_no_seal(run, verify):
    _forge(run)
    status, output = verify()
    assert status == 1
    assert output.startswith("gpu-1/pt_ddp: its seal is signed by another key, '")


def test_another_person_checks_with_the_public_key(run, verify, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    status, output = verify()
    assert status == 0
    assert "only the controller's user knows whether they are its own" in output
    genuine = tmp_path / "genuine.pem"
    genuine.write_bytes(_forge(run))
    assert verify()[0] == 0  # which is what that sentence is about
    assert verify("--key", genuine)[0] == 1
    state.key()
    assert verify()[0] == 1


def _in(envelope, name, old, new):
    """Return an envelope in which a part that is base64 has something else."""
    content = base64.b64decode(envelope[name]).replace(old, new)
    return {**envelope, name: base64.b64encode(content).decode()}


def _signed(envelope):
    (signature,) = envelope["signatures"]
    first = base64.b64decode(signature["sig"])[:1]
    return {**envelope, "signatures": [_in(signature, "sig", first, bytes([first[0] ^ 1]))]}


DAMAGE = {
    "half": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "deep": lambda text: "[" * 100_000,
    "unsigned": lambda text: json.dumps({**json.loads(text), "signatures": []}),
    "type": lambda text: text.replace("application/vnd.in-toto+json", "application/json"),
    "signature": lambda text: json.dumps(_signed(json.loads(text))),
    "payload": lambda text: json.dumps(_in(json.loads(text), "payload", b'"PASS"', b'"FAIL"')),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_broken_seal_is_named(run, verify, damage):
    path = received.seal_of(run)
    path.write_text(DAMAGE[damage](path.read_text()))
    altered = damage in {"signature", "payload"}
    message = "was altered: its signature does not fit" if altered else "is not a seal, or not a complete one"
    assert verify() == (1, f"gpu-1/pt_ddp: its seal {message}.\n")


MISSING = "gpu-1/pt_ddp was placed on its host, and neither its files nor its seal are here.\n"


def _remove(run):
    """Take a run away with its seal, so that only placed.json has it."""
    shutil.rmtree(run)
    received.seal_of(run).unlink(missing_ok=True)


def test_a_run_that_lost_its_seal_or_was_removed_with_it_is_named_unless_its_host_was_lost(run, verify):
    received.seal_of(run).unlink()
    assert verify() == (1, "gpu-1/pt_ddp has no seal.\n")
    _remove(run)
    assert verify() == (1, MISSING)
    journal.note_left(
        run.parents[1], "gpu-1", "validate", "unreachable", Complaint.of("It vanished. Fix: lease another.")
    )
    assert verify() == (0, "gpu-1/pt_ddp was never collected: It vanished. Fix: lease another.\n")


@pytest.mark.parametrize(
    ("removed_first", "expected"),
    [(True, (0, "gpu-1/pt_ddp was never collected: No. Fix: x.\n")), (False, (1, MISSING))],
)
def test_a_run_that_the_report_has_was_removed_though_its_host_left(run, verify, removed_first, expected):
    results = run.parents[1]
    journal.begin_play(results, "validate", ["gpu-1"], left=(), now="2026-11-21T02:00:00Z")
    journal.note_left(results, "gpu-1", "validate", "failed", Complaint.of("No. Fix: x."))
    if removed_first:
        _remove(run)
        write_reports(results)
    else:
        write_reports(results)
        _remove(run)
    sealing.put(results, None)
    status, output = verify()
    assert (status, output.splitlines(keepends=True)[0]) == expected


def test_called_wrongly_is_status_2(run, verify, tmp_path):
    (tmp_path / "empty").mkdir()
    wrong = (["--key", __file__], run.parents[1])
    for more, results in (([], tmp_path / "empty"), ([], tmp_path / "none"), wrong):
        status, output = verify(*more, results=results)
        assert status == 2
        assert output.count("Fix:") == 1
