# SPDX-License-Identifier: Apache-2.0
"""The command line, called as a user calls it; results, and runs collected by a user of the test's own."""

import json
import shutil
import sys

import jsonschema
import pytest
from msgspec.structs import replace
from samples.edits import packed, under
from samples.folders import add_host, add_placed, fill

from rekindle import cli
from rekindle.records import PlacedRecord, RunSpec, read_record, write_record
from rekindle.results import collection, state

RUN = "/home/lease/rekindle/runs/pt_ddp-0123456789ab"
CODE = "rekindle-0123456789abcdef.zip"


@pytest.fixture
def call(monkeypatch, capsys):
    """Call ``rekindle``; return its status and both outputs."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["rekindle", *map(str, arguments)])
        status = cli.main()
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def ask(call):
    """Call a verb with ``--json``; return its status and what it answers, which fits the verb's schema."""

    def run(name, *arguments):
        status, out, _ = call(name, *arguments, "--json")
        found, schema = json.loads(out), json.loads(call("schema", name)[1])
        jsonschema.validate(found, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"found": found}, schema)
        return status, found

    return run


@pytest.fixture
def bring(clean_run, own_state):
    """Return what places the recorded run on a host, and collects and seals it; it returns its folder."""

    def collect(results, host="gpu-1", failed=False):
        (results / "payload").mkdir(parents=True, exist_ok=True)
        (results / "payload" / CODE).write_bytes(b"code")
        if failed:  # so that it runs again, with another nonce
            state.note_verdict(RUN, read_record(results / host / "pt_ddp" / "spec.json", RunSpec), "FAIL")
        spec = replace(read_record(clean_run / "spec.json", RunSpec), host=host, nonce="")
        spec = state.agree_nonce(RUN, spec, again=False)
        under(clean_run, spec)
        placed = PlacedRecord(run=RUN, payload=f"/r/jobs/{CODE}", spec=spec, at="2026-11-25T22:28:00Z")
        write_record(collection.locate_placed(results / host, "pt_ddp"), placed)
        collection.keep_run(packed(clean_run), results / host / "pt_ddp", placed)
        return results / host / "pt_ddp"

    return collect


@pytest.fixture
def results(tmp_path, recordings):
    """Return a results folder with a job that passed on one host and one that never was on another."""
    folder = fill(tmp_path / "results", "gpu-1", "gpu-2")
    add_host(folder, "gpu-1", verdict=None)
    add_host(folder, "gpu-2", verdict=None)
    shutil.copytree(recordings / "runs/pt_ddp-cpu-2", folder / "gpu-1/pt_ddp")
    shutil.copy(recordings / "h200-x2/env.json", folder / "gpu-1/env.json")
    add_placed(folder / "gpu-1", "pt_ddp", folder / "gpu-1/pt_ddp/spec.json")
    return folder
