# SPDX-License-Identifier: Apache-2.0
"""Which models of NVFlare's workspace are loaded in the run's environment."""

import sys
from types import SimpleNamespace

import pytest

LEAF = SimpleNamespace(detach=None, dtype="float32", shape=(2,))
"""As a tensor looks."""


class Estimator:
    """As a class of somebody's looks, whose objects are saved by pickle."""

    def __init__(self, *arrays):
        self.trees = arrays


def test_models_are_the_servers_wherever_the_run_lies_and_whatever_it_is_called(
    component, monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, "numpy", SimpleNamespace(ndarray=tuple, generic=tuple))
    saved = component("rekindle.trainer.saved_models", {})
    run = tmp_path / "custom" / "run"
    app = run / "job/workspace/custom/server/simulate_job/app_server"
    for path in (app / "best.pt", app / "custom/brought.pt", app.with_name("cross_site_val") / "of_site.pt"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"weights")
    found = []
    evidence = SimpleNamespace(model=lambda name, **of: found.append(name))
    monkeypatch.setattr(saved, "Evidence", lambda kind: evidence)
    monkeypatch.setattr(saved, "sketch_model", lambda loaded: {})
    monkeypatch.setattr(saved, "LOADERS", {".pt": lambda path: path})
    monkeypatch.setenv("REKINDLE_EVIDENCE", str(run / "evidence"))
    monkeypatch.setenv(saved.WORKSPACE, str(run / "job/workspace"))
    saved.main()
    assert found == [(app / "best.pt").relative_to(run).as_posix()]


@pytest.mark.parametrize(
    ("loaded", "found"),
    [
        ({"w": LEAF}, {"w": LEAF}),
        (Estimator(LEAF), {"0/": LEAF}),
        ({"of": Estimator(LEAF), "accuracy": 0.9}, {"0/": LEAF}),
        ([Estimator()], [Estimator]),
        ({}, {}),
    ],
    ids=["a dictionary", "an object", "an object beside a figure", "an object without any", "nothing"],
)
def test_arrays_are_found_in_objects_of_any_class(component, monkeypatch, loaded, found):
    numpy = SimpleNamespace(ndarray=tuple, generic=tuple, asarray=lambda number: SimpleNamespace(shape=()))
    monkeypatch.setitem(sys.modules, "numpy", numpy)
    arrays = component("rekindle.trainer.saved_models", {}).find_arrays(loaded)
    assert ([type(one) for one in arrays] if isinstance(arrays, list) else arrays) == found
