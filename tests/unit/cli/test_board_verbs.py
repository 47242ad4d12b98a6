# SPDX-License-Identifier: Apache-2.0
"""``rekindle board`` and ``rekindle examples``: what they take, and their statuses."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace
from report_folders import FAIL, HOST, PASS, PLAN, add_host, fill
from solver_hosts import H200, host

from rekindle.cli import board, examples

JOBS = Path(__file__).parents[3] / "flare_jobs"
FAILED = replace(FAIL, host="gpu-1")
EXAMPLE = {"folder": "hello-world/hello", "command": ["job.py"], "data": ["cifar10"]}
MEND = {"file": "job.py", "before": "a", "after": "b", "fault": "example"}
MEND["because"] = "It cannot find its data."


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """Return a folder of jobs with two examples: one for any host, one for eight GPUs."""
    folder = tmp_path / "flare_jobs"
    shutil.copytree(JOBS / "pt_ddp", folder / "pt_ddp")
    job = yaml.safe_load((folder / "pt_ddp/job.yml").read_text())
    job["proof"] = [{"claim": "every_site_trained"}]
    (folder / "examples").mkdir()
    for name, changes in (
        ("small", {"summary": "One for any host"}),
        ("wide", {"ranks_per_site": 4, "example": {**EXAMPLE, "gpus": 8}}),
    ):
        example = {**job, "name": name, "example": EXAMPLE, **changes}
        (folder / "examples" / f"{name}.yml").write_text(yaml.safe_dump(example))
    for verb in (board, examples):
        monkeypatch.setattr(verb, "JOBS", folder)
    return folder


@pytest.fixture
def results(tmp_path, jobs):
    """Return a folder with a run that failed and a later one that passed."""
    for name, verdict in (("20261101T000000Z", FAILED), ("20261102T000000Z", PASS)):
        add_host(fill(tmp_path / "results" / name, "gpu-1"), "gpu-1", verdict=verdict)
    return tmp_path / "results"


def test_it_takes_runs_and_folders_of_runs_each_once(call, results):
    first, second = sorted(results.iterdir())
    status, out, _ = call("board", results)
    assert (status, out.count("pt_ddp"), "PASS" in out, "was FAIL" in out) == (0, 1, True, True)
    assert call("board", first)[0] == 1
    assert call("board", first, second)[1] == out
    assert call("board", results, first, second, first / ".." / second.name)[1] == out


@pytest.mark.parametrize("name", ["board", "runs"])
def test_json_fits_its_schema(ask, results, name):
    assert ask(name, results)[0] == 0


def test_markdown_is_a_table(call, results):
    status, out, _ = call("board", results, "--markdown")
    assert status == 0
    assert out.splitlines()[2].startswith("| pt\\_ddp | gpu-1 | torch 2.15.0 cu132 | 2.7.3 | PASS |")


def test_called_wrongly_is_a_sentence_and_2(golden, call, results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = [
        call("board", tmp_path / "none", "--markdown"),
        call("board", tmp_path / "none"),
        call("board", results, tmp_path / "flare_jobs"),
        call("examples", tmp_path / "none"),
    ]
    assert {(status, out, err.count("\n")) for status, out, err in answers} == {(2, "", 1)}
    golden(*(err.strip() for *_, err in answers))
    status, out, err = call("board", results, "--json", "--markdown")
    sentence = (
        "Invalid value for --json, --markdown: it is one or the other. Fix: see rekindle board --help.\n"
    )
    assert (status, json.loads(out)["schema"], err) == (2, "rekindle/refusal/1", sentence)


def test_a_run_that_cannot_be_read_makes_a_good_answer_unknown(call, results):
    first, second = sorted(results.iterdir())
    (first / "run.json").write_text('{"schema": "rekindle/run/9"}')
    status, out, _ = call("board", results)
    assert (status, "PASS" in out) == (3, True)
    assert "run.json was written by another version of Rekindle" in out
    (second / "run.json").write_text("{")
    status, out, err = call("board", results)
    assert (status, out, err.count("\n")) == (3, "", 1)


def test_a_job_that_is_broken_here_keeps_no_board(call, results, jobs):
    (jobs / "examples/small.yml").write_text("{")
    assert call("board", results)[0] == 0
    assert call("examples")[0] == 2


def test_examples_are_listed_with_what_they_need(call, jobs, monkeypatch):
    small = jobs / "examples/small.yml"
    job = yaml.safe_load(small.read_text())
    removed = {"commit": "f8ee79e3b", "why": "it has an heir"}
    small.write_text(yaml.safe_dump({**job, "example": {**EXAMPLE, "mends": [MEND], "removed": removed}}))
    monkeypatch.setenv("COLUMNS", "160")
    status, out, _ = call("examples")
    head, _, *lines = out.splitlines()
    assert status == 0
    assert head.split() == ["example", "environment", "sites", "data", "what"]
    text = " ".join(" ".join(lines).split())
    assert "small torch 2 × 2 cifar10 (stand-in) One for any host. Removed after f8ee79e3b: it has" in text
    assert "Mended (example): It cannot" in text


def test_each_host_could_run_them_or_is_refused_with_the_sentence(call, ask, results):
    python = host(H200, pythons=["3.12.3"]).pythons
    plan = replace(PLAN, jobs=("small",))
    for run, verdict in zip(sorted(results.iterdir()), (PASS, FAILED), strict=True):
        able = replace(HOST, pythons=python)
        add_host(run, "gpu-1", host=able, plan=plan, verdict=replace(verdict, job="small"))
    status, found = ask("examples", results)
    (small,), (wide,) = (example["hosts"] for example in found)
    assert status == 0
    newest = {"verdict": "FAIL", "cause": FAIL.cause, "run": "20261102T000000Z"}
    assert small == {"host": "gpu-1", "could_run": True, "refusal": None, **newest}
    assert (wide["could_run"], wide["verdict"]) == (False, None)
    assert wide["refusal"].startswith("wide needs 8 GPUs and gpu-1 has 4.")
    out = " ".join(call("examples", results)[1].split())
    assert "gpu-1 small yes FAIL Final accuracy 0.4" in out
    assert "gpu-1 wide no – wide needs 8 GPUs" in out


def test_a_host_without_a_gpu_runs_on_its_cpu_what_needs_none(ask, results):
    add_host(fill(results / "20261103T000000Z", "cpu-1"), "cpu-1", host=host(pythons=["3.11.7"]))
    _, found = ask("examples", results)
    could = [{there["host"]: there["could_run"] for there in example["hosts"]} for example in found]
    assert [there["cpu-1"] for there in could] == [True, False]


def test_a_build_that_no_host_gets_is_refused_too(ask, results):
    _, found = ask("examples", results)
    assert "this host has none" in found[0]["hosts"][0]["refusal"]  # HOST has no Python


def test_a_host_without_facts_is_unknown(call, ask, results):
    fill(results / "20261103T000000Z", "gpu-1", "gpu-2")
    status, found = ask("examples", results)
    assert status == 3
    assert [on_host["could_run"] for on_host in found[0]["hosts"]] == [False, None]
    assert "gpu-2 small unknown –" in " ".join(call("examples", results)[1].split())


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_are_as_wide_as_the_terminal(call, results, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in ("board", "examples"):
        out = call(name, results)[1]
        assert max(map(len, out.splitlines())) == columns
