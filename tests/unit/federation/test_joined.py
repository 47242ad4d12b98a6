# SPDX-License-Identifier: Apache-2.0
"""What hosts of a federation sent, joined: a bad host is a sentence, and nothing is lost before a verdict."""

import shutil

import pytest
from msgspec.structs import replace
from samples.edits import json_in

from rekindle.federation import parts
from rekindle.host import folders
from rekindle.records import PlacedRecord, RunSpec, VerdictRecord, read_record, write_record

HOSTS = ["cpu-1", "gpu-1", "gpu-2", "gpu-3"]
OWN = (folders.CLOCK, folders.ENDED)
"""Records of a run that each host sends its own of."""


@pytest.fixture
def results(tmp_path, recordings, monkeypatch):
    """Return a results folder with what four hosts sent of a recorded run that passed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    recorded, results = recordings / "federations/pt_ddp-3-sites", tmp_path / "results"
    spec = replace(read_record(recorded / "spec.json", RunSpec), files={})
    (results / "payload").mkdir(parents=True)
    (results / "payload/p").touch()
    for host in HOSTS:
        sent, part = replace(spec, host=host), parts.locate_part(results, "pt_ddp", host)
        shutil.copytree(recorded, part, ignore=shutil.ignore_patterns("samples-*", *OWN))
        for name in HOSTS:
            shutil.rmtree(part / name)
        shutil.copy(recorded / f"samples-{host}.jsonl", part / folders.SAMPLES)
        for name in OWN:
            shutil.copy(recorded / host / name, part / name)
        write_record(part / folders.SPEC, sent)
        placed = PlacedRecord(run="/r", payload="/payload/p", spec=sent, at="2026-11-25T22:28:00Z")
        write_record(parts.locate_placed_part(results / host, "pt_ddp"), placed)
    return results


def part(results, host):
    return parts.locate_part(results, "pt_ddp", host)


def test_good_parts_are_joined_to_a_pass_and_then_removed(results):
    assert parts.join_parts(results, "pt_ddp", HOSTS).verdict == "PASS"
    assert read_record(results / "federations/pt_ddp/verdict.json", VerdictRecord).verdict == "PASS"
    assert not part(results, "").exists()


def test_what_a_client_was_configured_with_is_its_own_hosts_word(results, recordings):
    (part(results, "gpu-2") / "evidence/gpu-1.server.jsonl").write_text("of another host\n")
    parts.join_parts(results, "pt_ddp", HOSTS)
    joined = results / "federations/pt_ddp/evidence/gpu-1.server.jsonl"
    recorded = recordings / "federations/pt_ddp-3-sites/evidence/gpu-1.server.jsonl"
    assert joined.read_text() == recorded.read_text()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"started": "x"}, "gpu-2/ended.json is not a valid RunEnd: Expected a time such as 2026-11-21"),
        ({"duration_s": 1e99}, "gpu-2/ended.json is not a valid RunEnd: Expected `float` <= 4102444799.0"),
        ({"duration_s": -5}, "gpu-2/ended.json is not a valid RunEnd: Expected `float` >= 0.0"),
        ({"started": "2099-12-31T23:59:59Z", "duration_s": 4e9}, "its run began at 2099-12-31T23:59:59Z"),
        ({"duration_s": 2.2e9}, "took 2200000000 s, and the server's was at another time"),
        ({"started": "2026-01-01T00:00:00Z"}, "its run began at 2026-01-01T00:00:00Z and took"),
        ({"waited_s": 1e99}, "gpu-2/ended.json is not a valid RunEnd: "),
        ({"suspensions": [{"since": -1e99, "until": 1e99}]}, "gpu-2/ended.json is not a valid RunEnd: "),
    ],
    ids=str,
)
def test_a_bad_end_of_one_host_is_a_sentence_about_it_and_the_others_are_judged(results, change, why):
    with json_in(part(results, "gpu-2") / folders.ENDED) as ended:
        ended.update(change)
    verdict = parts.join_parts(results, "pt_ddp", HOSTS)
    assert verdict.verdict == "UNPROVEN"
    assert verdict.cause.startswith("gpu-2 sent no evidence that fits the run: ")
    assert why in verdict.cause
    assert str(results) not in verdict.cause
    kept = read_record(results / "federations/pt_ddp/verdict.json", VerdictRecord)
    assert {site.site for site in kept.rounds} == {"gpu-1", "gpu-2", "gpu-3"}
    assert 0 < kept.duration_s < 1000


def test_what_a_host_says_of_its_end_is_no_fix_of_ours(results):
    with json_in(part(results, "gpu-2") / folders.ENDED) as ended:
        ended.update(reason="hung", message="gpu-1 took it. Fix: do as I say")
    verdict = parts.join_parts(results, "pt_ddp", HOSTS)
    assert verdict.cause.startswith("gpu-2: gpu-1 took it. Its advice: do as I say")


def test_the_servers_bad_end_is_a_sentence_about_it(results):
    with json_in(part(results, "cpu-1") / folders.ENDED) as ended:
        ended["started"] = "x"
    verdict = parts.join_parts(results, "pt_ddp", HOSTS)
    assert verdict.verdict == "UNPROVEN"
    assert verdict.cause.startswith(
        "cpu-1 sent no evidence that fits the run: cpu-1/ended.json is not a valid"
    )


def test_a_spec_that_is_none_is_not_taken_for_a_missing_one(results):
    (part(results, "gpu-1") / folders.SPEC).write_text("{}")
    assert parts.join_parts(results, "pt_ddp", HOSTS).cause.startswith(
        "gpu-1 sent no evidence that fits the run"
    )


def test_nothing_that_hosts_sent_is_lost_where_no_verdict_was_given(results, monkeypatch):
    def fails(*_):
        raise RuntimeError

    monkeypatch.setattr(parts, "judge_run", fails)
    with pytest.raises(RuntimeError):
        parts.join_parts(results, "pt_ddp", HOSTS)
    for host in HOSTS:
        assert (part(results, host) / folders.ENDED).exists()
        assert list((part(results, host) / folders.EVIDENCE).iterdir())
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(results.parent / "state"))
    assert parts.join_parts(results, "pt_ddp", HOSTS).verdict == "PASS"
