# SPDX-License-Identifier: Apache-2.0
"""What shortens NVFlare's waits: the settings that a recipe gets, and the executor that they name."""

import os
import sys
from importlib import import_module
from types import ModuleType, SimpleNamespace

import pytest

from rekindle.trainer import shorten_waits

DOWNLOADS = ("NVFLARE_NP_DOWNLOAD_CHUNK_SIZE", "NVFLARE_TENSOR_DOWNLOAD_CHUNK_SIZE")


class Recipe:
    """Keeps its settings."""

    def __init__(self):
        self.server, self.client = {}, {}
        self.add_server_config, self.add_client_config = self.server.update, self.client.update


class NVFlareExecutor:
    """The part of NVFlare's own that ours is about: a heartbeat, a launcher, a result that may be refused."""

    def __init__(self, *, read_interval, **arguments):
        self.read_interval, self.arguments = read_interval, arguments
        self.heartbeat, self.good, self.status = False, True, "running"
        self.launcher = SimpleNamespace(check_run_status=lambda task, context: self.status)

    def peer_is_up_or_dead(self):
        return self.heartbeat

    def check_output_shareable(self, task, result, context):
        return self.good


@pytest.fixture(autouse=True)
def environ(monkeypatch):
    """Leave the environment as it was."""
    for name in DOWNLOADS:
        monkeypatch.setenv(name, "")


@pytest.fixture
def executor(monkeypatch):
    """The executor that shorten_waits names, on the stand-in for NVFlare's own."""
    own = {"ClientAPILauncherExecutor": NVFlareExecutor}
    status = {"LauncherRunStatus": SimpleNamespace(RUNNING="running")}
    for name, members in (
        ("nvflare.app_common.executors.client_api_launcher_executor", own),
        ("nvflare.app_common.abstract.launcher", status),
    ):
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    recipe = Recipe()
    shorten_waits(recipe, exchange_format="pytorch")
    (entry,) = recipe.client["executors"]
    path, name = entry["executor"]["path"].rsplit(".", 1)
    yield getattr(import_module(path), name)(**entry["executor"]["args"])
    del sys.modules[path]


@pytest.mark.parametrize(("exchange_format", "chunk"), [("", ""), ("pytorch", "0")])
def test_a_large_model_or_an_nvflare_without_that_executor_keeps_its_own(monkeypatch, exchange_format, chunk):
    monkeypatch.setitem(sys.modules, "nvflare", ModuleType("nvflare"))
    recipe = Recipe()
    shorten_waits(recipe, exchange_format=exchange_format)
    assert recipe.client == {}
    assert [os.environ[name] for name in DOWNLOADS] == [chunk, chunk]
    assert recipe.server["server"]["task_request_interval"] < 2


def test_a_small_models_weights_go_in_the_message(executor):
    assert [os.environ[name] for name in DOWNLOADS] == ["0", "0"]
    assert executor.arguments["params_exchange_format"] == "pytorch"


def test_a_trainer_gets_its_task_with_its_heartbeat_or_once_it_has_answered(executor):
    assert not executor.peer_is_up_or_dead()
    executor.heartbeat = True
    assert executor.peer_is_up_or_dead()
    executor.heartbeat = False
    executor.check_output_shareable("train", {}, None)
    assert executor.peer_is_up_or_dead()


@pytest.mark.parametrize("change", [{"status": "failed"}, {"good": False}])
def test_one_that_ended_or_answered_badly_does_not(executor, change):
    vars(executor).update(change)
    executor.check_output_shareable("train", {}, None)
    assert not executor.peer_is_up_or_dead()
