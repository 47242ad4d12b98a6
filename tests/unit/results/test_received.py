# SPDX-License-Identifier: Apache-2.0
"""A collected run: judged by what was sent from here, whatever its host reports."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
from msgspec.structs import replace
from samples.edits import edit, json_in, packed, under
from samples.folders import add_placed

from rekindle.judge import judge_run
from rekindle.records import (
    Allocation,
    Clock,
    GivenGpu,
    GpuProcess,
    Ladder,
    PlacedRecord,
    RecordError,
    RunEnd,
    Rung,
    RunSpec,
    VerdictRecord,
    dump_builtins,
    read_record,
    write_record,
)
from rekindle.results import collection, state

RUN = "/home/lease/rekindle/runs/pt_ddp-0123456789ab"
CODE = "rekindle-0123456789abcdef.zip"


@pytest.fixture
def sent(clean_run, request):
    """Return the spec that the run was sent with; on the host it is as it was sent."""
    spec = replace(read_record(clean_run / "spec.json", RunSpec), host=request.node.name, nonce="")
    spec = state.agree_nonce(RUN, spec, again=False)
    under(clean_run, spec)
    return spec


@pytest.fixture
def results(tmp_path):
    """Return a results folder with the payload."""
    (tmp_path / "results/payload").mkdir(parents=True)
    (tmp_path / "results/payload" / CODE).write_bytes(b"code")
    return tmp_path / "results"


def keep(run, sent, results, archive=None, **more):
    """Collect a run, and return its verdict here."""
    dest = results / sent.host / "pt_ddp"
    placed = PlacedRecord(run=RUN, payload=f"/r/jobs/{CODE}", spec=sent, at="2026-11-25T22:28:00Z")
    collection.keep_run(archive or packed(run), dest, placed, **more)
    return read_record(dest / "verdict.json", VerdictRecord)


def test_a_pass_is_a_pass_here_too_with_the_controllers_clock_and_not_the_hosts(clean_run, sent, results):
    write_record(clean_run / "clock.json", Clock(offset_s=0.0, error_s=9999.0, asked="2026-11-25T22:28:00Z"))
    verdict = keep(clean_run, sent, results)
    assert verdict.verdict == "PASS"
    here = results / sent.host / "pt_ddp"
    assert not (here / "clock.json").exists()
    keep(clean_run, sent, results, clock=Clock(offset_s=7.0, error_s=0.1, asked="2026-11-25T22:28:00Z"))
    assert read_record(here / "clock.json", Clock).offset_s == 7


def _older(sent):
    """Return ``sent`` as one whose nonce was made long after the recorded run."""
    return replace(sent, clock=Clock(offset_s=0.0, error_s=0.1, asked="2026-12-24T15:33:00Z"))


def test_a_run_of_before_its_nonce_is_no_pass_also_without_the_hosts_clock(clean_run, sent, results):
    under(clean_run, _older(sent))
    for given in ({"clock": Clock(offset_s=0.0, error_s=0.1, asked="2026-11-25T22:28:00Z")}, {}):
        verdict = keep(clean_run, _older(sent), results, **given)
        assert verdict.verdict == "UNPROVEN"
        assert verdict.cause.endswith("s before its nonce was made: it is an older run.")
    clock = read_record(results / sent.host / "pt_ddp" / "clock.json", Clock)
    assert (clock.offset_s, clock.asked > "2026-1") == (0.0, True)


def test_a_run_of_which_nobody_knows_when_it_was_collected_is_no_pass(clean_run, sent, results):
    sent = replace(sent, clock=Clock(offset_s=0.0, error_s=0.1, asked="2026-01-01T00:00:00Z"))
    under(clean_run, sent)
    assert keep(clean_run, sent, results).verdict == "PASS"
    here = results / sent.host / "pt_ddp"
    (here / "clock.json").unlink()
    add_placed(here.parent, "pt_ddp", here / "spec.json")
    verdict = collection.judge_again(here)
    assert (verdict.verdict, "clock.json is missing" in verdict.cause) == ("UNPROVEN", True)


def test_a_folder_at_the_root_is_in_no_results():
    with pytest.raises(RecordError, match="nowhere"):
        collection.judge_again(Path("/nowhere"))


@pytest.mark.parametrize(
    ("asked", "cause"),
    [
        (
            ("2099-01-01T00:00:00Z", 9e5),
            "The host's clock may be off by 900000 s: that places the run nowhere.",
        ),
        (("2025-12-31T00:00:00Z", 0.1), "The run was collected before its nonce was made."),
    ],
)
def test_a_clock_that_places_the_run_nowhere_is_no_proof(clean_run, sent, results, asked, cause):
    sent = replace(sent, clock=Clock(offset_s=0.0, error_s=0.1, asked="2026-01-01T00:00:00Z"))
    under(clean_run, sent)
    clock = Clock(offset_s=0.0, error_s=asked[1], asked=asked[0])
    verdict = keep(clean_run, sent, results, clock=clock)
    assert (verdict.verdict, verdict.cause) == ("UNPROVEN", cause)


@pytest.mark.parametrize(
    ("found", "kind"), [(None, "PASS"), ("right", "PASS"), ("0" * 64, "UNPROVEN"), ("", "UNPROVEN")]
)
def test_a_payload_that_was_exchanged_on_the_host_is_named(clean_run, sent, results, found, kind):
    found = hashlib.sha256(b"code").hexdigest() if found == "right" else found
    verdict = keep(clean_run, sent, results, payload=found)
    assert verdict.verdict == kind
    assert kind == "PASS" or f"{CODE} there is not the file that was sent" in verdict.cause


def _ended(run, **changes):
    write_record(run / "ended.json", replace(read_record(run / "ended.json", RunEnd), **changes))


def _hung(run):
    _ended(run, reason="hung", message="Nothing moves.", exit_status=None)


def _limit(run):
    _ended(run, reason="limit", exit_status=None)


def _loss_rises(run):
    edit(run / "evidence/site-1.rank-0.jsonl", r'"losses": \[[\d.]+', '"losses": [0.0000001', count=1)


def _no_memory(run):
    _ended(run, exit_status=1)
    line = "torch.OutOfMemoryError: CUDA out of memory. Process 7 has 414.00 MiB memory in use.\n"
    (run / "job.log").write_text(line)


@pytest.mark.parametrize("break_", [_hung, _limit, _loss_rises, _no_memory])
@pytest.mark.parametrize("beside", [7, 8])
def test_a_run_that_failed_is_judged_as_where_it_was_whatever_its_host_has_now(
    clean_run, results, break_, beside, request
):
    before = GpuProcess(pid=7, name="vllm", memory_mib=414)
    given = GivenGpu(uuid="GPU-a", index=0, name=None, memory_mib=None, processes=(before,))
    spec = replace(read_record(clean_run / "spec.json", RunSpec), host=request.node.name, gpus=(given,))
    spec = state.agree_nonce(RUN, spec, again=False)
    write_record(clean_run / "spec.json", spec)
    rungs = (Rung(name="GPUs visible", state="fails", message="No.", seconds=0.1),)
    write_record(clean_run / "ladder.json", Ladder(rungs=rungs))
    break_(clean_run)
    there = judge_run(clean_run)
    record = {"gpus": [{"index": 0, "state": "ok", "processes": [{"pid": beside, "name": "x"}]}]}
    (results / spec.host).mkdir()
    (results / spec.host / "host.json").write_text(json.dumps(record))
    here = keep(clean_run, spec, results)
    assert there.verdict in {"FAIL", "HUNG"}
    assert here == there
    assert here.rungs == rungs
    assert break_ is not _no_memory or "vllm, there before the run" in here.cause


def _archive(folder, **files):
    """Return an archive as a host may make it, of texts by name."""
    path = folder / "made.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as stream:
        for name, text in files.items():
            member = tarfile.TarInfo(name.replace("_", ".", 1))
            member.size = len(text.encode())
            stream.addfile(member, io.BytesIO(text.encode()))
    return path


def _empty_pass(sent):
    verdict = {"schema": "rekindle/verdict/2", "job": "another", "host": "another", "verdict": "PASS"}
    verdict |= {"required": False, "cause": None, "remedy": None, "evidence": [], "started": None}
    verdict |= {"duration_s": None, "lock_sha256": None, "versions": {}, "devices": [], "rounds": []}
    return json.dumps(verdict)


@pytest.mark.parametrize("with_spec", [False, True])
def test_a_host_that_starts_nothing_and_sends_pass_has_not_passed(tmp_path, sent, results, with_spec):
    files = {"verdict_json": _empty_pass(sent)}
    if with_spec:
        files["spec_json"] = json.dumps(dump_builtins(sent))
    verdict = keep(None, sent, results, _archive(tmp_path, **files))
    assert verdict.verdict == "UNPROVEN"
    assert (verdict.job, verdict.host, verdict.required) == ("pt_ddp", sent.host, True)
    assert "\n" not in verdict.cause
    assert "/" not in verdict.cause


def test_what_a_host_calls_a_fix_is_none_of_ours(tmp_path, sent, results):
    verdict = keep(None, sent, results, _archive(tmp_path, spec_json='{"x Fix: y": 1}'))
    assert "x Fix: y" in verdict.cause
    assert verdict.cause.count(" Fix: ") == 1


@pytest.mark.parametrize(
    "text", ["{", '{"verdict": "MAYBE"}', "[]", "\udce4".encode("utf-8", "replace").decode()]
)
def test_an_invalid_verdict_of_a_host_does_not_count(tmp_path, sent, results, text):
    archive = _archive(tmp_path, verdict_json=text, spec_json=json.dumps(dump_builtins(sent)))
    verdict = keep(None, sent, results, archive)
    assert (verdict.verdict, verdict.host, verdict.job) == ("UNPROVEN", sent.host, "pt_ddp")


def test_a_folder_in_a_verdicts_place_is_an_error_of_one_sentence(tmp_path, sent, results):
    archive = _archive(tmp_path, **{"verdict_json/x": "", "spec_json": json.dumps(dump_builtins(sent))})
    with pytest.raises(RecordError, match="Fix: "):
        keep(None, sent, results, archive)
    assert not (results / sent.host / "pt_ddp").exists()


CHANGES = {
    "proof": lambda spec: spec["job"].update(proof=spec["job"]["proof"][:1]),
    "required": lambda spec: spec["job"].update(required=False),
    "rounds": lambda spec: spec["job"].update(rounds=1),
    "sites": lambda spec: spec.update(sites=spec["sites"][:1]),
    "host": lambda spec: spec.update(host="another"),
    "lock": lambda spec: spec.update(lock_sha256="1" * 64),
    "versions": lambda spec: spec["versions"].update(torch="9.9.9"),
    "nonce": lambda spec: spec.update(nonce="0" * 32),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_spec_than_was_sent_proves_nothing(clean_run, sent, results, change):
    with json_in(clean_run / "spec.json") as spec:
        change(spec)
    verdict = keep(clean_run, sent, results)
    assert verdict.verdict == "UNPROVEN"
    assert verdict.cause.startswith("The host did not run ")
    assert "rerun=true" in verdict.remedy
    assert (verdict.host, verdict.required) == (sent.host, True)


def test_a_lease_that_ends_earlier_makes_it_no_other_run(clean_run, sent, results):
    spec = replace(sent, job=replace(sent.job, limit_s=77))
    write_record(clean_run / "spec.json", spec)
    assert keep(clean_run, sent, results).verdict == "PASS"
    _limit(clean_run)
    assert keep(clean_run, sent, results).cause == "Ended at its limit of 77 s."


def _allocated(run, sent, nodes, **given):
    """Have the run be one that asks SLURM for 2 nodes and was collected with these; returns the spec sent."""
    ranks = [replace(site, ranks=2 * site.ranks) for site in sent.sites]
    sent = replace(
        sent,
        allocation=Allocation(room="slurm", partition="gpu", nodes=2, time="01:00:00"),
        sites=tuple(ranks),
    )
    under(run, replace(sent, nodes=nodes, **given))
    return sent


def test_a_run_is_judged_with_the_nodes_and_gpus_that_slurm_gave(clean_run, sent):
    sent = _allocated(clean_run, sent, ("n9", "n10"))
    verdict = collection.judge_received(clean_run, sent)
    assert verdict == judge_run(clean_run, replace(sent, nodes=("n9", "n10")))
    assert not verdict.cause.startswith("The host did not run what was sent")
    gpus = tuple(replace(site, gpus=("GPU-seen",) * (site.ranks // 2)) for site in sent.sites)
    uuids = ([f"{site.name}-{rank}" for rank in range(site.ranks)] for site in gpus)
    given = tuple(replace(site, gpus=tuple(own)) for site, own in zip(gpus, uuids, strict=True))
    under(clean_run, replace(sent, nodes=("n9", "n10"), sites=given))
    cause = collection.judge_received(clean_run, replace(sent, sites=gpus)).cause
    assert not cause.startswith("The host did not run what was sent")


def test_gpus_of_another_kind_than_were_planned_for_prove_nothing(clean_run, sent):
    seen = GivenGpu(uuid="GPU-seen", index=0, name="H200", memory_mib=143771)
    sites = tuple(replace(site, gpus=("GPU-seen",) * site.ranks) for site in sent.sites)
    given = tuple(replace(site, gpus=("GPU-given",) * site.ranks * 2) for site in sent.sites)
    for name, differs in (("H200", False), ("A100", True)):
        gpus = (replace(seen, uuid="GPU-given", name=name),)
        asked = _allocated(clean_run, replace(sent, sites=sites, gpus=(seen,)), ("n9", "n10"))
        ranks = tuple(replace(site, ranks=2 * site.ranks) for site in given)
        under(clean_run, replace(asked, nodes=("n9", "n10"), sites=ranks, gpus=gpus))
        cause = collection.judge_received(clean_run, asked).cause
        assert cause.startswith("The host did not run what was sent: sites and gpus and nodes") is differs


@pytest.mark.parametrize("nodes", [(), ("n9",), ("n9", "n10", "n11")])
def test_other_nodes_than_were_asked_for_prove_nothing(clean_run, sent, nodes):
    sent = _allocated(clean_run, sent, nodes)
    verdict = collection.judge_received(clean_run, sent)
    assert verdict.verdict == "UNPROVEN"
    assert bool(nodes) is ("nodes of its spec.json differ" in verdict.cause)


def test_other_ranks_and_nodes_that_nobody_asked_for_prove_nothing(clean_run, sent):
    under(clean_run, replace(sent, nodes=("n9", "n10")))
    assert collection.judge_received(clean_run, sent).cause.endswith(": nodes of its spec.json differ.")
    changed = tuple(replace(site, ranks=1) for site in sent.sites)
    sent = _allocated(clean_run, sent, ("n9", "n10"), sites=changed)
    cause = "The host did not run what was sent: sites and nodes of its spec.json differ."
    assert collection.judge_received(clean_run, sent).cause == cause


def test_a_pass_that_is_collected_again_is_of_when_it_was_judged(clean_run, sent, results, monkeypatch):
    def kept(again=False):
        spec = state.agree_nonce(RUN, sent, again=again)
        under(clean_run, spec)
        assert keep(clean_run, spec, results).verdict == "PASS"
        path = collection.locate_placed(results / sent.host, "pt_ddp")
        return read_record(path, PlacedRecord).kept if path.exists() else None

    monkeypatch.setattr(state, "format_time", lambda: "2026-11-21T09:12:00Z")
    assert kept() is None
    monkeypatch.setattr(state, "format_time", lambda: "2026-11-21T15:00:00Z")
    assert kept() == kept() == "2026-11-21T09:12:00Z"
    collection.locate_placed(results / sent.host, "pt_ddp").unlink()
    assert kept(again=True) is None
    assert kept() == "2026-11-21T15:00:00Z"
