# SPDX-License-Identifier: Apache-2.0
"""What shortens NVFlare's waits, on stand-ins for its classes; the names are those of its own code."""

import time
from types import ModuleType, SimpleNamespace

import pytest

from rekindle.trainer import waits


class PipeHandler:
    """The part of NVFlare's own that is about intervals."""

    def __init__(self, pipe, read_interval=0.5, heartbeat_interval=5.0):
        self.pipe, self.read_interval, self.heartbeat_interval = pipe, read_interval, heartbeat_interval


@pytest.fixture
def handler():
    """Return the patched class."""
    module = ModuleType("pipe_handler")
    module.PipeHandler = type("PipeHandler", (PipeHandler,), {})
    waits.hasten_pipes(module)
    return module.PipeHandler


@pytest.mark.parametrize(
    ("content", "interval"), [({}, 0.2), ({"server": {}}, 0.2), ({"server": {"task_request_interval": 2}}, 2)]
)
def test_clients_ask_more_often_unless_the_job_says_how_often(content, interval):
    configurator = SimpleNamespace(config_data=content, task_request_interval=2)
    waits.hasten_server(configurator)
    assert configurator.task_request_interval == interval


def test_executors_that_poll_poll_more_often():
    polls, other = SimpleNamespace(result_poll_interval=0.5), SimpleNamespace()
    entries = [SimpleNamespace(executor=polls), SimpleNamespace(executor=other)]
    waits.hasten_client(SimpleNamespace(executors=entries))
    assert polls.result_poll_interval == 0.1
    assert vars(other) == {}


def test_a_pipe_reads_and_shows_itself_more_often_and_never_less(handler):
    slow, quick = handler("pipe"), handler("pipe", 0.05, heartbeat_interval=0.2)
    assert (slow.pipe, slow.read_interval, slow.heartbeat_interval) == ("pipe", 0.1, 0.5)
    assert (quick.read_interval, quick.heartbeat_interval) == (0.05, 0.2)


@pytest.mark.parametrize(
    ("variables", "calls", "agents"),
    [
        ({}, [(), ("0",)], 1),
        ({}, [(), (), (0,)], 1),
        ({"RANK": "1"}, [(), ("1",)], 1),
        ({"RANK": "1"}, [(), ("0",)], 2),
        ({}, [(), ("0", "other.json")], 2),
    ],
)
def test_one_rank_of_a_trainer_has_one_agent_however_it_is_told(monkeypatch, variables, calls, agents):
    monkeypatch.delenv("RANK", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    started = set()
    module = ModuleType("api")
    module.init = lambda rank=None, config_file=None: started.add(
        (rank if rank is None else str(rank), config_file)
    )
    waits.join_agents(module)
    for call in calls:
        module.init(*call)
    assert len(started) == agents


def test_downloads_are_looked_at_more_often():
    module = ModuleType("download_service")
    module.time = time
    waits.hasten_downloads(module)
    began = time.monotonic()
    module.time.sleep(5.0)
    assert 0.1 < time.monotonic() - began < 2.0
    assert module.time.monotonic is time.monotonic
