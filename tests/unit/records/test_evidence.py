# SPDX-License-Identifier: Apache-2.0
"""What a rank, job.py and the server write down: lines that belong to their run, and can be read back."""

import math

import pytest

from rekindle.records.evidence import read_lines
from rekindle.trainer import Evidence
from rekindle.trainer.arrays import Fingerprint

SKETCH = tuple(range(8))
DIGEST, OTHER = "d" * 64, "e" * 64
GOOD, NOT_FINITE = Fingerprint(DIGEST, SKETCH), Fingerprint(OTHER, ())


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return what reads the lines back that are written in a run with the nonce ``n``."""
    (tmp_path / "evidence").mkdir()
    monkeypatch.setenv("REKINDLE_EVIDENCE", str(tmp_path / "evidence"))
    monkeypatch.setenv("REKINDLE_NONCE", "n")
    return lambda: [line.event for line in read_lines(tmp_path)]


def _round(evidence, model_out=GOOD):
    evidence.round(
        0, samples=1, seconds=0.123456789, losses=[1.0], metrics={}, model_in=GOOD, model_out=model_out
    )


def test_every_line_repeats_the_nonce_of_its_run(written, monkeypatch):
    monkeypatch.setattr("rekindle.trainer.evidence.sketch_model", lambda weights: {"digest": DIGEST})
    evidence = Evidence()
    evidence.device("cpu", uuid=None, name=None, backend="gloo")
    _round(evidence)
    evidence.exception("ValueError", "shapes differ", "client.py:1")
    evidence.tracking("wandb", "site-1", [])
    evidence.final({}, {"accuracy": math.nan})
    evidence.global_model(0, SKETCH)
    evidence.configuration("server", {"workflows": []})
    evidence.model("", values=1)
    assert [event.nonce for event in written()] == ["n"] * 8


@pytest.mark.parametrize("nonce", [None, ""])
def test_a_run_without_a_nonce_has_none(written, monkeypatch, nonce):
    monkeypatch.delenv("REKINDLE_NONCE")
    if nonce is not None:
        monkeypatch.setenv("REKINDLE_NONCE", nonce)
    _round(Evidence())
    assert [event.nonce for event in written()] == [None]


def test_ranks_that_end_a_round_in_the_same_millisecond_are_distinguished(written, monkeypatch):
    monkeypatch.setattr("rekindle.trainer.evidence.time.time", iter([1.0000001, 1.0000002]).__next__)
    _round(Evidence(rank=0))
    _round(Evidence(rank=1))
    assert [event.time for event in written()] == [1.0000001, 1.0000002]
    assert written()[0].seconds == 0.123456789


def test_a_round_has_the_sketches_of_the_weights_whose_digests_it_has(written):
    _round(Evidence(), Fingerprint(OTHER, SKETCH[::-1]))
    (event,) = written()
    assert (event.model_in, event.sketch_in) == (DIGEST, SKETCH)
    assert (event.model_out, event.sketch_out) == (OTHER, SKETCH[::-1])


def test_weights_that_are_not_finite_are_a_line_too(written):
    _round(Evidence(), NOT_FINITE)
    Evidence("server").model("", infinite=1, norm=math.nan)
    trained, model = written()
    assert trained.sketch_out == ()
    assert (model.infinite, model.norm) == (1, None)
