# SPDX-License-Identifier: Apache-2.0
"""What is recorded at NVFlare's server of a run, and that it changes nothing in the run."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from fault_runs import Edit, Fault, inject

from rekindle.records import RunSpec, read_record
from rekindle.records.events import ExceptionEvent, FinalEvent, GlobalEvent, RoundEvent, TaskEvent
from rekindle.records.evidence import read_lines

BREAKER = """
from nvflare.apis.fl_component import FLComponent
from rekindle.trainer import tasks

class Breaker(FLComponent):
    def handle_event(self, event_type, fl_ctx):
        tasks.sketch_weights = tasks.compare_result = lambda *_, **__: 1 / 0
"""
BREAK = "from breaker import Breaker\nrecipe.job.to_server(Breaker(), 'breaker')"
FLOATS = 1e-6
"""Of a sketch's largest sum: what a mean in float32 may be off."""


def _write_breaker(work):
    (work / "jobs" / "fault_job" / "breaker.py").write_text(BREAKER)


RUNS = {
    "recorded": Fault("recorded", "", verdict="PASS"),
    "broken": Fault(
        "broken", "", (Edit("job.py", "recipe.execute(", BREAK),), before=_write_breaker, verdict=""
    ),
    "a site fails": Fault(
        "a site fails",
        "",
        (Edit("client.py", "weights = received.params", 'if SITE == "site-2" and number == 1:\n    1 / 0'),),
    ),
}


@pytest.fixture(scope="module")
def runs(host_records, tmp_path_factory):
    """Return the folders of the same job whose server records and cannot."""
    works = {name: tmp_path_factory.mktemp(name.replace(" ", "-")) for name in RUNS}
    with ThreadPoolExecutor(len(RUNS)) as pool:
        outcomes = list(pool.map(lambda name: inject(RUNS[name], host_records, works[name]), RUNS))
    return {name: outcome.run for name, outcome in zip(RUNS, outcomes, strict=True)}


def _of(run, kind):
    return [line.event for line in read_lines(run) if isinstance(line.event, kind)]


def test_it_is_what_the_trainers_got_and_sent(runs):
    came = {(event.site, event.round): event for event in _of(runs["recorded"], TaskEvent)}
    trained = _of(runs["recorded"], RoundEvent)
    assert len(came) == len(trained) == 4
    for event in trained:
        result = came[event.site, event.round]
        assert result.sent == pytest.approx(event.sketch_in, rel=FLOATS)
        assert result.sketch == pytest.approx(event.sketch_out, rel=FLOATS)
        assert (result.return_code, result.finite, result.weight) == ("OK", True, None)
        assert result.moved > 0.1


def test_the_next_model_is_the_mean_of_what_came(runs):
    models = {event.round: event.sketch for event in _of(runs["recorded"], GlobalEvent)}
    results = _of(runs["recorded"], TaskEvent)
    for number in (0, 1):
        came = [event.sketch for event in results if event.round == number]
        sent = next(event.sent for event in results if event.round == number)
        means = [sum(sums) / len(sums) for sums in zip(*came, strict=True)]
        assert means == pytest.approx(models[number + 1], rel=0, abs=FLOATS * max(map(abs, means)))
        assert means != pytest.approx(sent, rel=0, abs=FLOATS * max(map(abs, means)))


def test_every_line_belongs_to_the_run(runs):
    nonces = {name: read_record(run / "spec.json", RunSpec).nonce for name, run in runs.items()}
    assert len({*nonces.values(), ""}) == len(runs) + 1
    for name, run in runs.items():
        assert {line.event.nonce for line in read_lines(run)} == {nonces[name]}


def test_recording_changes_nothing(runs):
    finals = [_of(runs[name], FinalEvent)[0] for name in ("recorded", "broken")]
    assert finals[0].digest == finals[1].digest is not None
    assert finals[0].metrics == finals[1].metrics


def test_a_server_that_cannot_record_reports_an_exception(runs):
    assert _of(runs["broken"], GlobalEvent) == _of(runs["broken"], TaskEvent) == []
    errors = _of(runs["broken"], ExceptionEvent)
    assert {(event.site, event.kind) for event in errors} == {("server", "ZeroDivisionError")}
    assert len(errors) == len(_of(runs["recorded"], TaskEvent))
    log = next(runs["broken"].glob("job/workspace/*/server/log_error.txt"))
    assert log.read_text() == ""


def test_a_site_that_fails_is_seen_by_its_return_code(runs):
    came = _of(runs["a site fails"], TaskEvent)
    (event,) = (event for event in came if (event.site, event.round) == ("site-2", 1))
    assert (event.return_code, event.weight, event.moved) == ("TASK_ABORTED", None, None)
