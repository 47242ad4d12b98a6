# SPDX-License-Identifier: Apache-2.0
"""The reported progress of a recorded run whose trainers write their lines again."""

import json

import pytest
from msgspec.structs import replace

from rekindle.driver.progress import Reporter
from rekindle.driver.snapshot import Process
from rekindle.records import Progress, RunSpec, read_record


@pytest.fixture
def trainers(clean_run):
    """Return the run with empty evidence, and its lines as (time, file, text) by time."""
    lines = [
        (json.loads(text)["time"], path, text)
        for path in (clean_run / "evidence").glob("*.jsonl")
        for text in path.read_text().splitlines()
    ]
    for _, path, _ in lines:
        path.unlink(missing_ok=True)
    return clean_run, sorted(lines, key=lambda line: line[0])


def test_before_the_first_round_it_is_told_what_begins(trainers):
    run, lines = trainers
    reporter = Reporter(run, read_record(run / "spec.json", RunSpec))

    def said(*processes):
        reporter.report(1.0, now=processes)
        return read_record(run / "progress.json", Progress).message

    job = Process(1, "job.py", "S", born=1.0)
    server = Process(2, "server", "S", nvflare="server", parent=1)
    client = Process(3, "client", "S", nvflare="site-1", parent=1)
    assert said() == "starting"
    assert said(job) == "starting: job.py runs"
    assert said(job, Process(9, "prepare.py", "S", born=2.0)).startswith("starting: prepare.py runs")
    assert said(job, server) == "starting: NVFlare's server is up"
    assert said(job, server, client) == "starting: 1 of 2 sites have joined NVFlare's server"
    for trainer in (Process(4, "client.py", "S", parent=3), Process(4, "client.py", "S", site="site-1")):
        assert said(job, server, client, trainer).startswith("starting: trainers of 1 of 2 sites import")
    devices = [(path, text) for _, path, text in lines if json.loads(text)["event"] == "device"]
    devices[0][0].write_text(devices[0][1] + "\n")
    assert said(job, server, client).endswith("compute their first batch")


def test_a_trainer_that_gets_one_model_for_ever_is_told_until_it_sends_a_result(trainers):
    run, _ = trainers
    spec = read_record(run / "spec.json", RunSpec)
    reporter, file = Reporter(run, spec), run / "evidence" / "site-1.server.jsonl"

    def told(**fields):
        line = {"event": "use", "time": 1.0, "nonce": spec.nonce, "site": "site-1", "place": "client.py:9"}
        with file.open("a") as stream:
            print(json.dumps({**line, **fields}), file=stream)
        reporter.report(1.0)
        return reporter.turning

    assert told(right=False, by="steps") is None
    assert told(right=False, by="turns") == "site-1 gets the same model at client.py:9"
    assert told(right=False, by="turns", site="site-2") == "site-1 gets the same model at client.py:9"
    assert told(right=True, by="turns") == "site-2 gets the same model at client.py:9"
    assert told(right=True, by="turns", site="site-2") is None


def test_a_run_is_starting_until_a_rank_has_its_device(trainers):
    run, lines = trainers
    reporter = Reporter(run, read_record(run / "spec.json", RunSpec))
    reporter.report(1.0)
    assert reporter.is_starting
    (path, text), *_ = [(path, text) for _, path, text in lines if json.loads(text)["event"] == "device"]
    path.write_text(text + "\n")
    reporter.report(2.0)
    assert not reporter.is_starting


def test_without_ranks_evidence_a_run_is_starting_until_every_site_sent_a_result(trainers):
    run, lines = trainers
    reporter = Reporter(run, read_record(run / "spec.json", RunSpec))
    results = [
        (path, text) for _, path, text in lines if json.loads(text).get("sketch") and "server" in path.name
    ]
    states = []
    for path, text in results:
        with path.open("a") as file:
            file.write(text + "\n")
        reporter.report(1.0)
        states.append(reporter.is_starting)
    assert (states[0], states[-1]) == (True, False)


@pytest.mark.parametrize(("assumed", "said"), [((), "2 results"), (("rounds",), "round 8, 2 results")])
def test_a_round_beyond_a_number_that_nothing_said_is_reported_alone(trainers, assumed, said):
    run, lines = trainers
    spec = read_record(run / "spec.json", RunSpec)
    reporter = Reporter(run, replace(spec, job=replace(spec.job, assumed=assumed)))
    results = [(path, json.loads(text)) for _, path, text in lines if json.loads(text)["event"] == "task"]
    for path, event in results[:2]:
        with path.open("a") as file:
            file.write(json.dumps({**event, "round": 7}) + "\n")
    reporter.report(1.0)
    assert read_record(run / "progress.json", Progress).message == said


def test_each_round_is_reported_with_its_loss_and_what_is_left(trainers):
    run, lines = trainers
    reporter, messages = Reporter(run, read_record(run / "spec.json", RunSpec)), []
    for _, path, text in lines:
        with path.open("a") as file:
            file.write(text[:20])
            file.flush()
            reporter.report(1.0)  # a line that is half written does not count yet
            messages.append(read_record(run / "progress.json", Progress).message)
            file.write(text[20:] + "\n")
    reporter.end(2.0)
    assert messages[0].startswith("starting")
    rounds = [json.loads(text) for _, _, text in lines if json.loads(text)["event"] == "round"]
    first, second = (next(event for event in rounds if event["round"] == number) for number in (0, 1))
    devices = min(time for time, _, text in lines if json.loads(text)["event"] == "device")
    for event, left in ((first, 2 * (first["time"] - devices)), (second, second["time"] - first["time"])):
        expected = f"round {event['round'] + 1}/3, loss {event['losses'][-1]:.4f}, about {left:.0f} s left"
        assert expected in messages
    ended, last = read_record(run / "progress.json", Progress), rounds[-1]["losses"][-1]
    assert (ended.state, ended.message) == ("ended", f"ended after round 3/3, loss {last:.4f}")
