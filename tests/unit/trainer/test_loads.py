# SPDX-License-Identifier: Apache-2.0
"""A load of which a torch model takes nothing is recorded, with the line of the job's code."""

import json
import sys
from types import SimpleNamespace

import pytest

from rekindle.trainer import loads


class Module:
    """Like torch's, with the names ``a`` and ``b``."""

    def load_state_dict(self, state_dict, strict=True):
        unexpected = [name for name in state_dict if name not in {"a", "b"}]
        if strict and unexpected:
            raise RuntimeError(unexpected)
        return SimpleNamespace(unexpected_keys=unexpected)


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """Return what runs a job's script with such modules watched, and returns what was recorded."""
    torch = SimpleNamespace(Module=type("Watched", (Module,), {}))
    torch.Module.load_state_dict = Module.load_state_dict
    loads.watch_loads(torch)
    monkeypatch.setenv("REKINDLE_WORKSPACE", str(tmp_path / "job/workspace"))
    monkeypatch.setenv("REKINDLE_EVIDENCE", str(tmp_path))
    client = SimpleNamespace(get_site_name=lambda: "site-2")
    monkeypatch.setitem(sys.modules, "nvflare.client.api", client)

    def run(script, folder="job"):
        path = tmp_path / folder / "client.py"
        exec(compile(script, path, "exec"), {"model": torch.Module()})
        found = tmp_path / "site-2.server.jsonl"
        lines = found.read_text().splitlines() if found.exists() else []
        return [(one["site"], one["place"], one["took"]) for one in map(json.loads, lines)]

    return run


LOOP = "for state in ({}):\n    model.load_state_dict(state, strict=False)"


@pytest.mark.parametrize(
    ("script", "recorded"),
    [
        ("model.load_state_dict({'m.a': 1}, strict=False)", [("site-2", "client.py:1", False)]),
        (LOOP.format("{'m.a': 1}, {'m.b': 1}"), [("site-2", "client.py:2", False)]),
        (
            LOOP.format("{'m.a': 1}, {'a': 1}, {'m.a': 1}"),
            [("site-2", "client.py:2", False), ("site-2", "client.py:2", True)],
        ),
        (LOOP.format("{'a': 1}, {'m.a': 1}"), []),
        (LOOP.format("{'a': 1, 'head': 1}, {'b': 1}"), []),
        (LOOP.format("{}, {}"), []),
        ("model.load_state_dict({'a': 1})", []),
    ],
)
def test_a_load_that_takes_nothing_is_recorded_once_for_its_line(trainer, script, recorded):
    assert trainer(script) == recorded


def test_a_library_s_own_loads_are_not(trainer):
    assert trainer("model.load_state_dict({'m.a': 1}, strict=False)", folder="lib") == []


def test_what_cannot_be_recorded_hinders_no_load(trainer, monkeypatch):
    monkeypatch.delitem(sys.modules, "nvflare.client.api")
    assert trainer("assert model.load_state_dict({'x': 1}, strict=False).unexpected_keys == ['x']") == []
    with pytest.raises(RuntimeError, match="'x'"):
        trainer("model.load_state_dict({'x': 1})")
