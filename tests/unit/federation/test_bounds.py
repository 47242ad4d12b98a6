# SPDX-License-Identifier: Apache-2.0
"""The server's component that predicts a round's transfers, and ends a job that links do not bear."""

import json
import math
import sys
from types import SimpleNamespace

import pytest

from rekindle.trainer.variables import MEMBER

BOUND = {"bytes": 5_000_000, "why": "5 MB pass.", "fix": "split it."}
WAY = {"site": "gpu-1", "byte_s": 1e-6, "request_s": 0.1}


@pytest.fixture
def bounds(component, monkeypatch):
    """Return the component's module, with as much of NVFlare as it takes."""
    nvflare = {
        "apis.event_type": {
            "EventType": SimpleNamespace(
                BEFORE_TASK_DATA_FILTER="before data", BEFORE_TASK_RESULT_FILTER="before result"
            )
        },
        "apis.fl_component": {"FLComponent": object},
        "apis.fl_constant": {
            "FLContextKey": SimpleNamespace(TASK_DATA="data", TASK_RESULT="result", TASK_NAME="name"),
            "ReturnCode": SimpleNamespace(EXECUTION_RESULT_ERROR="bad"),
        },
        "apis.fl_context": {"FLContext": object},
        "app_common.abstract.model": {"ModelLearnableKey": object},
        "app_common.app_constant": {"AppConstants": object},
    }
    monkeypatch.setitem(sys.modules, "numpy", SimpleNamespace(ndarray=tuple, generic=tuple))
    monkeypatch.setenv(MEMBER, json.dumps({"given": {}, "measured": {"bound": BOUND, "ways": [WAY]}}))
    return component("rekindle.federation.bounds", nvflare)


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


class Result(dict):
    """As much of a Shareable as the component takes."""

    code = "OK"

    def set_return_code(self, code):
        self.code = code


class Tensor(SimpleNamespace):
    """As much of a framework's tensor: ``shape``, ``dtype`` and one ``value``."""

    nbytes, dtype, value = 24, "torch.float32", 1.0
    detach = None

    def isfinite(self):
        return SimpleNamespace(sum=lambda: math.prod(self.shape) * math.isfinite(self.value))


@pytest.mark.parametrize(
    ("kind", "tensor", "why"),
    [
        ("WEIGHTS", Tensor(shape=(2, 3)), None),
        ("WEIGHTS", Tensor(shape=(2, 3), value=math.inf), "layer has numbers that are not finite"),
        ("WEIGHT_DIFF", Tensor(shape=(2, 3), value=math.nan), "layer has numbers that are not finite"),
        ("WEIGHTS", Tensor(shape=(6,)), "layer has the shape (6,), and (2, 3) was sent"),
        ("WEIGHTS", Tensor(shape=(6,), dtype="uint8"), None),  # as a quantiser packs it
        ("ANALYTICS", Tensor(shape=(1,), value=math.nan), None),
    ],
)
def test_a_result_that_would_spoil_the_model_is_refused(bounds, capsys, kind, tensor, why):
    component = bounds.Bounds()
    result = Result(DXO={"kind": kind, "data": {"layer": tensor}})
    props = {"name": "train", "result": result, "data": {"DXO": {"data": {"layer": Tensor(shape=(2, 3))}}}}
    peer = SimpleNamespace(get_identity_name=lambda: "two")
    context = SimpleNamespace(get_prop=props.get, get_peer_context=lambda: peer)
    component.handle_event("before data", context)
    capsys.readouterr()
    component.handle_event("before result", context)
    assert capsys.readouterr().out == (f"The result of two was refused: {why}.\n" if why else "")
    assert (result.code, "DXO" in result) == (("bad", False) if why else ("OK", True))


def test_a_mask_that_was_sent_so_is_no_flaw(bounds):
    mask = Tensor(shape=(2, 3), value=-math.inf)
    sent = bounds.refusals.read_leaves({"mask": mask})
    assert bounds.refusals.find_result_flaw({"mask": mask}, sent) is None
    assert bounds.refusals.find_result_flaw({"other": mask}, sent) == "other has numbers that are not finite"
