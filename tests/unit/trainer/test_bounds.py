"""The server's component that foretells a round's transfers, and ends a job that links do not bear."""

import json
from types import SimpleNamespace

import pytest

from rekindle.trainer.participant import PARTICIPANT

BOUND = {"of": "tensor", "bytes": 5_000_000, "why": "5 MB pass.", "fix": "split it."}
WAY = {"site": "gpu-1", "byte_s": 1e-6, "request_s": 0.1, "wait_s": 3.0}


@pytest.fixture
def bounds(component, monkeypatch):
    """Return the component's module, with as much of NVFlare as it takes."""
    nvflare = {
        "apis.event_type": {"EventType": SimpleNamespace(BEFORE_TASK_DATA_FILTER="before data")},
        "apis.fl_component": {"FLComponent": object},
        "apis.fl_constant": {"FLContextKey": SimpleNamespace(TASK_DATA="data")},
        "apis.fl_context": {"FLContext": object},
    }
    monkeypatch.setenv(PARTICIPANT, json.dumps({"bounds": [BOUND], "ways": [WAY]}))
    return component("rekindle.trainer.bounds", nvflare)


def ended(bounds, *tensors):
    """Return why the job is ended at its first model, if it is."""
    component, why = bounds.Bounds(), []
    component.system_panic = lambda reason, fl_ctx: why.append(reason)
    for data in ({}, {"DXO": {"data": [SimpleNamespace(nbytes=size) for size in tensors]}}):
        component.handle_event("before data", SimpleNamespace(get_prop=lambda key, data=data: data))
    return why


def test_a_model_within_the_bounds_is_foretold(bounds, capsys):
    assert ended(bounds, 4_000_000, 2_000_000) == []
    assert capsys.readouterr().out == (
        "The model has 6.0 MB, its largest tensor 4.0 MB. A round's transfers take 9.2 s, by gpu-1's link.\n"
    )


def test_a_tensor_beyond_them_ends_the_job_before_it_is_sent(bounds):
    assert ended(bounds, 6_000_000) == ["The largest tensor of the model has 6 MB; 5 MB pass. Fix: split it."]
