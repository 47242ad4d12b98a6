# SPDX-License-Identifier: Apache-2.0
"""Texts of a host or a job reach a terminal without escapes and line breaks."""

import json
import re

import pytest

from rekindle import records
from rekindle.judge import judge_run
from rekindle.records import Diagnosis, Finding, text, write_record
from rekindle.report.findings import format_diagnosis

HOSTILE = "a\x1b[2J\x1b]0;t\x07b\x9b31mc\rd\nPASS \u202e"
SHOWN = "abc d PASS"
OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture
def rekindle(call):
    """Run ``rekindle`` with arguments and return what it printed, which has to be harmless."""

    def run(*arguments):
        output = "".join(call(*arguments)[1:])
        assert not OBEYED.search(output)
        return output

    return run


def _hostile(recording, path, *fields):
    """Copy a record with the hostile text in some fields, named as a path of keys each."""
    record = json.loads(recording.read_text())
    for keys in fields:
        *parents, last = keys
        place = record
        for key in parents:
            place = place[key]
        place[last] = HOSTILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))
    return path


def test_judge(rekindle, clean_run):
    _hostile(clean_run / "spec.json", clean_run / "spec.json", ["host"])
    (clean_run / "ended.json").unlink()
    lines = rekindle("judge", clean_run).splitlines()
    assert lines[0].startswith(f"{SHOWN} pt_ddp: UNPROVEN")
    assert lines[1].startswith("  every_site_trained: holds.")
    assert json.loads(rekindle("judge", clean_run, "--json"))["host"] == HOSTILE


def test_diff(rekindle, tmp_path, recordings):
    ours = recordings / "h200-x2/env.json"
    first = ("environments", 0)
    theirs = _hostile(ours, tmp_path / "env.json", [*first, "lock_sha256"], [*first, "packages", "torch"])
    assert SHOWN in rekindle("diff", ours, theirs)
    for probe in ({"build": "x"}, {"gpus": [1]}, {"gpus": 5}, {"gpus": [{}]}, {"build": {HOSTILE: HOSTILE}}):
        record = json.loads(ours.read_text())
        record["environments"][0]["probe"] = probe
        theirs.write_text(json.dumps(record))
        rekindle("diff", ours, theirs)


def test_plan(rekindle, tmp_path, recordings):
    host = recordings / "h200-x2/host.json"
    theirs = _hostile(host, tmp_path / "host.json", ["os", "architecture"])
    assert SHOWN in rekindle("plan", theirs)
    json.loads(rekindle("plan", theirs, "--json"))


def test_report(rekindle, tmp_path, recordings):
    run = {"schema": "rekindle/run/1", "run": "r", "started": "2026-11-21T02:15:00Z", "hosts": ["h"]}
    (tmp_path / "run.json").write_text(json.dumps(run))
    recorded = tmp_path / "verdict.json"
    write_record(recorded, judge_run(recordings / "runs/pt_ddp-h100-x2"))
    _hostile(recorded, tmp_path / "h/pt_ddp/verdict.json", ["cause"], ["devices", 0, "name"])
    assert "pt_ddp" in rekindle("report", tmp_path)


def test_a_finding():
    finding = Finding(name="n", cause=HOSTILE, layer="job", remedy=HOSTILE, confidence="likely", file=HOSTILE)
    assert not OBEYED.search(format_diagnosis(Diagnosis(cause=finding)))


def test_an_error(rekindle, tmp_path):
    path = tmp_path / "env.json"
    path.write_text(json.dumps({"host": "h", "x" + HOSTILE: 1}))
    assert SHOWN in rekindle("diff", path, path)
    assert SHOWN in rekindle("plan", path)


def test_json_for_a_terminal_is_ascii():
    run = records.PlaybookRecord(run=HOSTILE, started="", hosts=())
    assert text.format_json(run).isascii()
    assert json.loads(text.format_json(run))["run"] == HOSTILE


def test_colours_of_ours_stay_on_a_terminal_and_nothing_else():
    ours = "\x1b[0;31mred\x1b[0m\n"
    assert text.clean_for_terminal(ours, True) == ours
    assert text.clean_for_terminal(ours, False) == "red\n"
    theirs = "\x1b[8mhidden\x1b[2J\x1b[31mred\x1b]0;t\x07\r\x9bm"
    assert text.clean_for_terminal(theirs, True) == "hidden\x1b[31mred"
