# SPDX-License-Identifier: Apache-2.0
"""``rekindle board`` and ``rekindle runs``: what they take, and their statuses."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace
from samples.folders import FAIL, PASS, add_host, fill

from rekindle.cli import board

JOBS = Path(__file__).parents[3] / "flare_jobs"
FAILED = replace(FAIL, host="gpu-1")
EXAMPLE = {"folder": "hello-world/hello", "command": ["job.py"], "data": ["cifar10"]}


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """Return a folder of jobs with an example."""
    folder = tmp_path / "flare_jobs"
    shutil.copytree(JOBS / "pt_ddp", folder / "pt_ddp")
    job = yaml.safe_load((folder / "pt_ddp/job.yml").read_text())
    job["proof"] = [{"claim": "every_site_trained"}]
    (folder / "examples").mkdir()
    example = {**job, "name": "small", "example": EXAMPLE}
    (folder / "examples" / "small.yml").write_text(yaml.safe_dump(example))
    monkeypatch.setattr(board, "JOBS", folder)
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
    assert (status, out.count("FAIL → PASS: pt_ddp on gpu-1"), out.count("pt_ddp")) == (0, 1, 2)
    everything = call("board", results, "--all")[1]
    assert (everything.count("pt_ddp"), "PASS" in everything, "was FAIL" in everything) == (1, True, True)
    assert call("board", first)[0] == 1
    assert call("board", first, second)[1] == out
    assert call("board", results, first, second, first / ".." / second.name)[1] == out


@pytest.mark.parametrize("name", ["board", "runs"])
def test_json_fits_its_schema(ask, results, name):
    assert ask(name, results)[0] == 0


def test_a_page_is_written_with_links_to_runs_beside_it(call, results):
    page = results / "board.html"
    assert call("board", results, "--page", page)[:2] == call("board", results)[:2]
    assert 'href="20261102T000000Z/gpu-1/report.html#pt_ddp"' in page.read_text()
    status, out, err = call("board", results, "--page", page / "board.html")
    assert (status, out) == (2, "")
    assert "board.html cannot be written: File exists. Fix: name a file in a folder" in err


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
        call("runs", tmp_path / "none"),
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


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_are_as_wide_as_the_terminal(call, results, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    out = call("board", results)[1]
    assert max(map(len, out.splitlines())) == columns
