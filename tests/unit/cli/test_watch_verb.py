# SPDX-License-Identifier: Apache-2.0
"""``rekindle watch``: it follows a run until nobody works on it, and changes nothing."""

import json
import time
from types import SimpleNamespace

import jsonschema
import pytest
from samples.folders import NOW, PASS, PLAN, add_host, fill

from rekindle.cli import watch
from rekindle.records.text import ERASE
from rekindle.results.journal import keep_playing, stop_playing


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Return a run of one host that goes on until it was watched once; its job then has passed."""
    folder = fill(tmp_path / "results/r", "gpu-1", began={"gpu-1": NOW})
    add_host(folder, "gpu-1", plan=PLAN, verdict=None)
    (folder.parent / "latest").symlink_to("r")
    monkeypatch.chdir(tmp_path)
    playing = keep_playing(folder)

    def end(seconds):
        add_host(folder, "gpu-1", verdict=PASS)
        stop_playing(folder, playing)

    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=time.monotonic, sleep=end))
    return folder


def test_piped_it_is_a_line_a_change_and_then_the_answer(call, results):
    status, out, err = call("watch")
    first, second, said = out.splitlines()[:3]
    assert (status, err, first[9:], second[9:]) == (0, "", "gpu-1 environments", "gpu-1 PASS")
    assert said == "1 of 1 hosts proven."
    assert {path.name for path in results.iterdir()} == {"run.json", "gpu-1"}


def test_for_programs_each_line_is_json_that_fits_the_schema(call, results):
    schema = json.loads(call("schema", "watch")[1])
    status, out, _ = call("watch", results, "--json-lines")
    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [(line["stage"], line["verdict"]) for line in lines] == [
        ("environments", "RUNNING"),
        (None, "PASS"),
    ]
    for line in lines:
        jsonschema.Draft202012Validator(schema).validate(line)


@pytest.mark.parametrize(("terminal", "table"), [("xterm", True), ("dumb", False)])
def test_on_a_terminal_that_can_draw_it_is_one_table(call, results, monkeypatch, terminal, table):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", terminal)
    status, out, _ = call("watch", results)
    assert status == 0
    assert ("0 of 1 hosts proven; 1 RUNNING." in out) is table
    after = out.rpartition(ERASE)[2] if table else out
    assert after.count("1 of 1 hosts proven.") == 1
    assert "A\r" not in after


def test_ctrl_c_ends_the_watching_alone(call, results, monkeypatch):
    def interrupted(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(watch.time, "sleep", interrupted)
    status, out, _ = call("watch")
    assert (status, out.splitlines()[-1]) == (3, "The run goes on.")


def test_what_is_no_run_is_one_sentence(call, tmp_path):
    status, out, err = call("watch", tmp_path / "none")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "none does not exist. Fix: name a folder that is there." in err
