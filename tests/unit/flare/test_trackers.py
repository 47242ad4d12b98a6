"""What trackers keep is read with the standard library, and what is damaged or hostile in it is reported."""

import json
import math
import sqlite3
import struct
import time
from contextlib import closing

import pytest

from rekindle.flare import trackers
from rekindle.flare.trackers import BrokenTrackerError, Scalar, kept
from rekindle.flare.workspace import Member, Workspace
from rekindle.judge.check import claimed
from rekindle.judge.foreign import run_of
from rekindle.records import Claim


def tracker_kept(workspace, tracker):
    """Return the result of the claim that a tracker kept the run."""
    return claimed(run_of(workspace), Claim(claim="tracked", options={"tracker": tracker}))


def varint(number):
    """Return a number as Protocol Buffers have it."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def part(number, content):
    """Return a field of a message."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def real(number, value):
    """Return a field with a float."""
    return varint(number << 3 | 5) + struct.pack("<f", value)


def events(*scalars, tensors=False):
    """Return a file of TensorBoard's with tag, step and value of each."""
    content = b""
    for tag, step, value in scalars:
        encoded = part(8, real(5, value)) if tensors else real(2, value)
        event = part(2, step) + part(5, part(1, part(1, tag.encode()) + encoded))
        content += struct.pack("<QI", len(event), 0) + event + b"\0\0\0\0"
    return content


def offline(name, *rows):
    """Return a file of W&B's offline mode: a run of that name, and its rows."""
    records = [part(17, part(8, name.encode()))]
    for row in rows:
        items = [
            part(1, part(2, key.encode()) + part(16, json.dumps(value).encode()))
            for key, value in row.items()
        ]
        records.append(part(2, b"".join(items)))
    content = b":W&B\xe1\xbe\x00"
    for record in records:
        left, how = record, 2
        while True:
            room = (1 << 15) - len(content) % (1 << 15) - 7
            if room < 0:
                content += b"\0" * (room + 7)
                continue
            now, left = left[:room], left[room:]
            kind = (1 if how == 2 else 4) if not left else (2 if how == 2 else 3)
            content, how = content + struct.pack("<IHB", 0, len(now), kind) + now, 3
            if not left:
                break
    return content


@pytest.fixture
def run(tmp_path):
    """Return a function that writes files into a workspace of two sites and returns it."""

    def write(**content):
        for name, text in content.items():
            path = tmp_path / "ws" / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
        sites = {name: Member(tmp_path / "ws" / name) for name in ("server", "site-1", "site-10")}
        return Workspace(tmp_path / "ws", sites, "ws")

    names = [{"name": "site-1"}, {"name": "site-10"}]
    write(**{"server/simulate_job/meta.json": json.dumps({"job_clients": names}).encode()})
    return write


def _tb(*scalars, **more):
    return {
        f"server/simulate_job/tb_events/{site}/events.out.tfevents.1": events(*scalars, **more)
        for site in SITES
    }


def _mlflow(*lines):
    found = {}
    for site in SITES:
        home = f"server/simulate_job/mlruns/1/{site}-run"
        found[f"{home}/tags/mlflow.runName"] = f"{site}-abc-job".encode()
        found[f"{home}/metrics/loss"] = "".join(lines).encode()
    return found


def _wandb(*rows):
    return {f"server/wandb/{site}/run-1.wandb": offline(f"{site}-abc-wandb", *rows) for site in SITES}


SITES = ("site-1", "site-10")
GOOD = {
    "tensorboard": _tb(("loss", 1, 0.5), ("loss", 2, 0.25)),
    "mlflow": _mlflow("1 0.5 1\n", "2 0.25 2\n"),
    "wandb": _wandb({"loss": 0.5, "_step": 1}, {"loss": 0.25, "_step": 2, "note": "x" * 70_000}),
}


@pytest.mark.parametrize("tracker", GOOD)
def test_one_run_of_each_site_is_read(run, tracker):
    workspace = run(**GOOD[tracker])
    scalars = kept(workspace, tracker)
    assert {scalar.run.split("-abc")[0] for scalar in scalars} == {*SITES}
    values = [(scalar.tag, scalar.step, scalar.value) for scalar in scalars]
    assert values == [("loss", 1, 0.5), ("loss", 2, 0.25)] * 2
    answer = tracker_kept(workspace, tracker)
    assert answer.holds
    assert answer.message == f"{tracker} kept 4 values of loss at 2 steps, in one run of each site."


def _tables(base):
    base.execute("CREATE TABLE runs (run_uuid TEXT, name TEXT)")
    base.execute("CREATE TABLE metrics (run_uuid TEXT, key TEXT, value REAL, step INTEGER, is_nan INTEGER)")


@pytest.mark.parametrize(("name", "holds"), [("metrics_summary.json", True), ("loss", None)])
def test_nvflares_own_folder_of_metrics_is_not_mlflows(run, name, holds):
    files = {f"server/simulate_job/metrics/{name}": b'{"schema_version": "1"}'}
    assert tracker_kept(run(**GOOD["mlflow"], **files), "mlflow").holds is holds


def test_a_database_of_mlflows_is_read(run, tmp_path):
    workspace = run()
    with closing(sqlite3.connect(tmp_path / "ws/server/mlflow.db")) as base, base:
        _tables(base)
        base.execute("INSERT INTO runs VALUES ('a', 'site-1-x')")
        base.execute("INSERT INTO metrics VALUES ('a', 'loss', 0.5, 3, 0), ('a', 'loss', 0, 4, 1)")
    scalars = kept(workspace, "mlflow")
    assert scalars[0] == Scalar("site-1-x", "loss", 3, 0.5)
    assert math.isnan(scalars[1].value)


def test_a_database_that_goes_on_for_ever_is_ended(run, tmp_path, monkeypatch):
    monkeypatch.setattr(trackers, "_STEPS", 20_000)
    workspace = run()
    with closing(sqlite3.connect(tmp_path / "ws/server/mlflow.db")) as base, base:
        _tables(base)
        base.executemany("INSERT INTO runs VALUES (?, 'r')", [("a",)] * 500)
        base.executemany("INSERT INTO metrics VALUES (?, 'k', 0, 0, 0)", [("a",)] * 500)
    with pytest.raises(BrokenTrackerError, match=r"mlflow\.db cannot be read: interrupted"):
        kept(workspace, "mlflow")


def test_the_sites_own_runs_count_where_the_server_has_none(run):
    files = {f"{site}/simulate_job/mlflow/1/r/metrics/loss": b"1 0.5 1\n" for site in SITES}
    names = {f"{site}/simulate_job/mlflow/1/r/tags/mlflow.runName": f"{site}-x".encode() for site in SITES}
    assert tracker_kept(run(**files, **names), "mlflow").holds


def _at(site, run):
    home = f"{site}/simulate_job/mlflow/1/{run}"
    return {f"{home}/metrics/loss": b"1 0.5 1\n", f"{home}/tags/mlflow.runName": run.encode()}


TWICE_AT_SITE_1 = {**_at("site-1", "a"), **_at("site-1", "b"), **_at("site-10", "c")}


@pytest.mark.parametrize(
    ("files", "holds", "message"),
    [
        ({**_at("site-1", "train"), **_at("site-10", "train")}, True, "mlflow kept 2 values"),
        ({**_at("site-1", "site-1-x"), **_at("site-1", "site-10-x")}, False, "a run of site-10 at site-1."),
        (_at("site-1", "site-1-x"), False, "mlflow kept no runs of site-10."),
        (TWICE_AT_SITE_1, False, "mlflow kept 2 runs of site-1."),
    ],
)
def test_a_sites_own_tracker_has_its_own_run_alone(run, files, holds, message):
    answer = tracker_kept(run(**files), "mlflow")
    assert (answer.holds, message in answer.message) == (holds, True)


def test_what_lies_beside_the_workspace_counts_as_the_servers(run, tmp_path):
    workspace = run()
    for site in SITES:
        home = tmp_path / f"server/simulate_job/mlruns/1/{site}"
        for name, text in (("metrics/loss", "1 0.5 1\n"), ("tags/mlflow.runName", f"{site}-x")):
            (home / name).parent.mkdir(parents=True)
            (home / name).write_text(text)
    assert tracker_kept(workspace, "mlflow").holds


@pytest.mark.parametrize(
    ("tracker", "files", "message"),
    [
        ("tensorboard", {}, "tensorboard kept no runs of site-1."),
        ("mlflow", {}, "mlflow kept no runs of site-1."),
        ("wandb", {}, "wandb kept no runs of site-1."),
        ("tensorboard", _tb(), "tensorboard kept no runs of site-1."),
        ("tensorboard", _tb(("loss", 1, math.nan)), "tensorboard has nan for loss of site-1."),
        ("wandb", _wandb({"loss": math.inf}), "wandb has inf for loss of site-1-abc-wandb."),
        ("mlflow", _mlflow("1 nan 1\n"), "mlflow has nan for loss of site-1-abc-job."),
        ("mlflow", dict([*GOOD["mlflow"].items()][:2]), "mlflow kept no runs of site-10."),
        (
            "wandb",
            {**GOOD["wandb"], "server/wandb/2/run-2.wandb": offline("site-1-more", {"loss": 1})},
            "wandb kept 2 runs of site-1.",
        ),
    ],
)
def test_what_a_tracker_lacks_is_reported(run, tracker, files, message):
    answer = tracker_kept(run(**files), tracker)
    assert (answer.holds, answer.message) == (False, message)


@pytest.mark.parametrize(
    ("tracker", "files"),
    [
        ("tensorboard", {"server/events.out.tfevents.1": struct.pack("<QI", 3, 0) + b"\x0f\x0f\x0f\0\0\0\0"}),
        ("tensorboard", {"server/events.out.tfevents.1": struct.pack("<QI", 2, 0) + b"\x2a\x7f\0\0\0\0"}),
        ("tensorboard", {"server/events.out.tfevents.1": struct.pack("<QI", 11, 0) + b"\x10" + b"\xff" * 14}),
        ("mlflow", {"server/mlruns/1/r/metrics/loss": b"no\n"}),
        ("mlflow", {"server/mlflow.db": b"SQLite format 3\0" + b"\xff" * 200}),
        ("wandb", {"server/run.wandb": b"no"}),
        ("wandb", {"server/run.wandb": b":W&B\xe1\xbe\x00" + struct.pack("<IHB", 0, 1, 9) + b"\0"}),
        (
            "wandb",
            {"server/run.wandb": offline("r", {"loss": 1}).replace(b"\x821\x01", b"\x821{")[:-1] + b"{"},
        ),
    ],
)
def test_a_damaged_file_of_a_tracker_is_one_sentence(run, tracker, files):
    began = time.process_time()
    answer = tracker_kept(run(**files), tracker)
    assert answer.holds is None
    assert answer.message.count("\n") == 0
    assert time.process_time() - began < 5


@pytest.mark.parametrize("tracker", GOOD)
@pytest.mark.parametrize("share", [0, 0.3, 0.8, 0.99])
def test_a_file_that_is_cut_is_no_traceback(run, tracker, share):
    files = {name: content[: int(len(content) * share)] for name, content in GOOD[tracker].items()}
    assert "at 2 steps" not in tracker_kept(run(**files), tracker).message or share == 0.99


def test_tensors_of_tensorboard_are_scalars_too(run):
    assert kept(run(**_tb(("loss", 1, 0.5), tensors=True)), "tensorboard")[0].value == 0.5


def test_an_unknown_tracker_is_reported(run):
    assert tracker_kept(run(), "sacred").message == "The format of sacred is unknown."
