"""Seals: what was altered in results since they were judged is named, whatever it is."""

import base64
import json
import os
import shutil
import sys

import pytest
from msgspec.structs import replace
from recorded_edits import packed, under

from rekindle import cli
from rekindle.records import PlacedRecord, RunSpec, read, write
from rekindle.report import write_reports
from rekindle.results import home, journal, seal, sealing, state

RUN = "/home/lease/rekindle/runs/pt_ddp-0123456789ab"
CODE = "rekindle-0123456789abcdef.zip"


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """Be a user of one's own, with a key of one's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def bring(clean_run, results, host):
    """Have a run of ``host`` at home, sealed; return its folder."""
    (results / "payload").mkdir(parents=True, exist_ok=True)
    (results / "payload" / CODE).write_bytes(b"code")
    spec = replace(read(clean_run / "spec.json", RunSpec), host=host, nonce="")
    spec = state.agree(RUN, spec, again=False)
    under(clean_run, spec)
    placed = PlacedRecord(run=RUN, payload=f"/r/jobs/{CODE}", spec=spec)
    write(home.placed_in(results / host, "pt_ddp"), placed)
    home.keep(packed(clean_run), results / host / "pt_ddp", placed)
    return results / host / "pt_ddp"


@pytest.fixture
def run(clean_run, tmp_path):
    return bring(clean_run, tmp_path / "results", "gpu-1")


@pytest.fixture
def verify(run, monkeypatch, capsys):
    """Call ``rekindle verify``; returns its status and what it said."""

    def call(*more, results=run.parents[1]):
        monkeypatch.setattr(sys, "argv", ["rekindle", "verify", str(results), *map(str, more)])
        status = cli.main()
        said = capsys.readouterr()
        return status, said.out + said.err

    return call


def test_what_nobody_touched_is_as_it_was_sealed(run, verify):
    status, said = verify()
    assert status == 0
    assert said.startswith("gpu-1/pt_ddp is as it was sealed at 20")
    assert said.endswith("Z: PASS.\n")


def test_a_run_of_many_files_is_sealed_as_well(clean_run, tmp_path, verify):
    (clean_run / "more").mkdir()
    for number in range(500):
        (clean_run / "more" / f"{number}.txt").write_text(str(number))
    bring(clean_run, tmp_path / "results", "gpu-1")
    status, said = verify()
    assert status == 0, said


def test_the_seal_states_what_was_judged_and_is_in_totos(run):
    envelope = json.loads(home.seal_of(run).read_text())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert {subject["name"] for subject in statement["subject"]} == {
        path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()
    }
    told = statement["predicate"]
    spec = read(run / "spec.json", RunSpec)
    assert (told["host"], told["job"], told["verdict"]) == ("gpu-1", "pt_ddp", "PASS")
    assert (told["nonce"], told["lock"]) == (spec.nonce, spec.lock_sha256)
    assert told["payload"] == "5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b"
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
def test_a_byte_that_was_altered_is_named(run, verify, name):
    _flip(run / name)
    assert verify() == (1, f"gpu-1/pt_ddp/{name} was altered.\n")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_removed_is_named(run, verify, name):
    (run / name).unlink()
    assert verify() == (1, f"gpu-1/pt_ddp/{name} is missing.\n")


def test_files_that_were_added_are_named_and_not_opened(run, verify, tmp_path):
    (run / "evidence/more.jsonl").write_text("")
    (run / "link").symlink_to(tmp_path)
    os.mkfifo(run / "pipe")
    names = ("evidence/more.jsonl", "link", "pipe")
    assert verify() == (1, "".join(f"gpu-1/pt_ddp/{name} was added.\n" for name in names))


def test_a_file_that_became_a_link_to_the_same_is_altered(run, verify, tmp_path):
    (run / "spec.json").rename(tmp_path / "spec.json")
    (run / "spec.json").symlink_to(tmp_path / "spec.json")
    assert verify() == (1, "gpu-1/pt_ddp/spec.json was altered.\n")


def test_a_name_with_escapes_does_not_reach_the_terminal(run, verify):
    (run / "\x1b[2Jx").write_text("")
    status, said = verify()
    assert status == 1
    assert "\x1b" not in said


def test_swapped_seals_are_named(run, verify, clean_run):
    other = bring(clean_run, run.parents[1], "gpu-2")
    first, second = home.seal_of(run), home.seal_of(other)
    texts = first.read_bytes(), second.read_bytes()
    assert verify()[0] == 0
    first.write_bytes(texts[1])
    second.write_bytes(texts[0])
    status, said = verify()
    assert status == 1
    assert said.splitlines() == [
        "gpu-1/pt_ddp: its seal is that of gpu-2/pt_ddp.",
        "gpu-2/pt_ddp: its seal is that of gpu-1/pt_ddp.",
    ]


def test_an_older_seal_of_the_same_job_does_not_fit(run, verify, clean_run):
    before = home.seal_of(run).read_bytes()
    state.note(RUN, read(run / "spec.json", RunSpec), "FAIL")
    bring(clean_run, run.parents[1], "gpu-1")
    home.seal_of(run).write_bytes(before)
    status, said = verify()
    assert status == 1
    assert "gpu-1/pt_ddp/spec.json was altered." in said


def _forge(run):
    """Alter a run, and seal it again with a key of the forger's, in the place of the controller's."""
    _flip(run / "evidence/site-1.rank-0.jsonl")
    (pem,) = run.parent.glob("*.pem")
    key = seal.new_key()
    told = seal.opened(home.seal_of(run).read_bytes(), [pem.read_bytes()]).predicate
    home.seal_of(run).write_bytes(seal.make(run, told, key))
    genuine = pem.read_bytes()
    pem.write_bytes(seal.public_key(key))
    return genuine


def test_a_seal_by_another_key_is_no_seal(run, verify):
    _forge(run)
    status, said = verify()
    assert status == 1
    assert said.startswith("gpu-1/pt_ddp: its seal is signed by another key, '")


def test_another_person_checks_with_the_public_key(run, verify, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    status, said = verify()
    assert status == 0
    assert "whether they are the controller's, only its user can tell" in said
    genuine = tmp_path / "genuine.pem"
    genuine.write_bytes(_forge(run))
    assert verify()[0] == 0  # which is what that sentence is about
    assert verify("--key", genuine)[0] == 1
    state.key()
    assert verify()[0] == 1


def _signature(text):
    envelope = json.loads(text)
    signature = bytearray(base64.b64decode(envelope["signatures"][0]["sig"]))
    signature[0] ^= 1
    envelope["signatures"][0]["sig"] = base64.b64encode(signature).decode()
    return json.dumps(envelope)


def _payload(text):
    envelope = json.loads(text)
    payload = base64.b64decode(envelope["payload"]).replace(b'"PASS"', b'"FAIL"')
    return json.dumps({**envelope, "payload": base64.b64encode(payload).decode()})


def _type(text):
    return text.replace("application/vnd.in-toto+json", "application/json")


NO_SEAL = "is not a seal, or not a whole one"


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: text[: len(text) // 2], NO_SEAL),
        (lambda text: "", NO_SEAL),
        (lambda text: "[" * 100_000, NO_SEAL),
        (
            lambda text: json.dumps({**json.loads(text), "signatures": []}),
            NO_SEAL,
        ),
        (_signature, "was altered: its signature does not fit"),
        (_payload, "was altered: its signature does not fit"),
        (_type, NO_SEAL),
    ],
)
def test_a_broken_seal_is_said_to_be_one(run, verify, damage, says):
    path = home.seal_of(run)
    path.write_text(damage(path.read_text()))
    assert verify() == (1, f"gpu-1/pt_ddp: its seal {says}.\n")


def test_a_run_without_a_seal_is_said_to_have_none(run, verify):
    home.seal_of(run).unlink()
    assert verify() == (1, "gpu-1/pt_ddp has no seal.\n")


GONE = "gpu-1/pt_ddp was placed on its host, and neither its files nor its seal are here.\n"


def _remove(run):
    """Take a run away with its seal, so that only placed.json tells of it."""
    shutil.rmtree(run)
    home.seal_of(run).unlink()


def test_a_run_that_was_removed_with_its_seal_is_named(run, verify):
    _remove(run)
    assert verify() == (1, GONE)


def test_a_run_that_was_lost_with_its_host_is_none_that_was_removed(run, verify):
    _remove(run)
    journal.note_left(run.parents[1], "gpu-1", "validate", "unreachable", "It is gone. Fix: lease another.")
    assert verify() == (0, "gpu-1/pt_ddp never came home: It is gone. Fix: lease another.\n")


@pytest.mark.parametrize(
    ("removed_first", "expected"),
    [(True, (0, "gpu-1/pt_ddp never came home: No. Fix: x.\n")), (False, (1, GONE))],
)
def test_what_the_report_had_at_home_was_removed_though_its_host_left(run, verify, removed_first, expected):
    results = run.parents[1]
    journal.begin_play(results, "validate", ["gpu-1"], left=(), now="2026-11-21T02:00:00Z")
    journal.note_left(results, "gpu-1", "validate", "failed", "No. Fix: x.")
    if removed_first:
        _remove(run)
        write_reports(results)
    else:
        write_reports(results)
        _remove(run)
    sealing.put(results, None)
    status, said = verify()
    assert (status, said.splitlines(keepends=True)[0]) == expected


def test_called_wrongly_is_status_2(run, verify, tmp_path):
    (tmp_path / "empty").mkdir()
    for more, results in (
        ([], tmp_path / "empty"),
        ([], tmp_path / "none"),
        (["--key", __file__], run.parents[1]),
    ):
        status, said = verify(*more, results=results)
        assert status == 2
        assert said.count("Fix:") == 1
