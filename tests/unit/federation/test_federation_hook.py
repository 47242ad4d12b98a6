# SPDX-License-Identifier: Apache-2.0
"""What a member's processes load first beside what any run's do: its room's patches."""

import json
import sys
from types import SimpleNamespace

import pytest

from rekindle.federation.hook import PATCHES
from rekindle.trainer import hook
from rekindle.trainer.variables import MEMBER

SERVER = "nvflare.private.fed.server.server_json_config"


class Bounds:
    """Stands for what guards a federation's server."""


class TaskWitness:
    """Stands for the witness of tasks, which gets all components."""

    def __init__(self, components):
        self.components = components


@pytest.fixture
def installed(monkeypatch):
    """Return what installs the hook in a process, and returns its patches of a module."""

    def install(name):
        monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
        monkeypatch.setattr(hook, "watch_exit", lambda: None)
        hook.install_hook()
        return [table[name] for table in sys.meta_path[0]._tables if name in table]

    return install


def test_a_server_of_a_federation_gets_its_guard_beside_the_witness(installed, component, monkeypatch):
    monkeypatch.setenv(MEMBER, json.dumps({"room": "federation"}))
    recorder = SimpleNamespace(configuration=lambda *_: None)
    for name, has in {
        "trainer.evidence": {"name_server": lambda: "server", "Evidence": lambda name: recorder},
        "trainer.tasks": {"TaskWitness": TaskWitness},
        "federation.bounds": {"Bounds": Bounds},
    }.items():
        monkeypatch.setitem(sys.modules, f"rekindle.{name}", SimpleNamespace(**has))
    component("rekindle.trainer.witnesses", {})
    own = type("ServerJsonConfigurator", (), {"finalize_config": lambda self: None})
    for patch in installed(SERVER):
        patch(SimpleNamespace(ServerJsonConfigurator=own))
    server = SimpleNamespace(
        components={}, handlers=[], workflows=[], config_data={}, task_request_interval=2
    )
    own.finalize_config(server)
    assert [type(handler) for handler in server.handlers] == [TaskWitness, Bounds]


def test_a_host_with_a_run_of_its_own_has_none_of_it(installed, monkeypatch):
    monkeypatch.delenv(MEMBER, raising=False)
    assert installed(SERVER) == [hook.PATCHES[SERVER]]
    assert not {*PATCHES} - {SERVER} & {*hook.PATCHES}
