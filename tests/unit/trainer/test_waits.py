# SPDX-License-Identifier: Apache-2.0
"""What shortens NVFlare's waits, on stand-ins for its classes; the names are those of its own code."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
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


def test_what_a_module_looks_for_is_looked_at_more_often():
    module = ModuleType("download_service")
    module.time = time
    waits.hasten_looks(module)
    began = time.monotonic()
    module.time.sleep(5.0)
    assert 0.1 < time.monotonic() - began < 2.0
    assert module.time.monotonic is time.monotonic


@pytest.fixture
def runner():
    """Return the patched module of the simulator, whose monitor gives grace as NVFlare's does."""

    def run(main_func, run_dir=None, shutdown_grace_time=3, cleanup_grace_time=3):
        status = main_func()
        time.sleep(shutdown_grace_time)
        return status, run_dir, cleanup_grace_time

    module = ModuleType("simulator_runner")
    module.mpm = SimpleNamespace(run=run)
    waits.hasten_end(module)
    return module


@pytest.mark.parametrize(
    ("seconds", "daemon", "least", "most"),
    [(0, False, 0.4, 1.9), (1.5, False, 1.4, 2.6), (60, True, 0.4, 1.9), (3.5, False, 2.9, 3.4)],
)
def test_a_simulation_waits_for_the_threads_that_it_started_and_no_longer(
    runner, seconds, daemon, least, most
):
    def simulate():
        threading.Thread(target=time.sleep, args=(seconds,), daemon=daemon).start()
        pool.submit(len, "").result()
        return "ended"

    pool = ThreadPoolExecutor()  # its thread stays, as those of NVFlare's pools
    began = time.monotonic()
    found = runner.mpm.run(main_func=simulate, run_dir="here", shutdown_grace_time=3, cleanup_grace_time=6)
    assert least < time.monotonic() - began < most
    assert found == ("ended", "here", 6)


def test_a_simulation_that_fails_fails_as_before(runner):
    def simulate():
        raise RuntimeError("of the job's own")

    with pytest.raises(RuntimeError, match="of the job's own"):
        runner.mpm.run(main_func=simulate)
