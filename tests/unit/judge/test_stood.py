# SPDX-License-Identifier: Apache-2.0
"""Where trainers stood, by the stacks of an autopsy."""

from rekindle.judge.opener import open_run
from rekindle.judge.standstill import find_lines

STACKS = """\
Process {pid}: python client.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    {waits}
    main ({file}:41)
    <module> ({file}:60)

Process 99999999: python other.py
    <module> (client.py:9)
"""


def _stacks(run, file, waits="all_reduce (torch/distributed/distributed_c10d.py:2501)"):
    recorded = open_run(run)
    pid = next(pid for pid, owner in recorded.samples.owners_of(None).items() if owner == "site-1")
    (run / "job/client.py").write_text("")
    (run / "autopsy").mkdir()
    (run / "autopsy/stacks.txt").write_text(STACKS.format(pid=pid, file=file, waits=waits))
    return find_lines(recorded)


def test_it_is_the_innermost_line_of_the_jobs_own_code(clean_run):
    assert _stacks(clean_run, "client.py") == {"site-1": "client.py:41"}


def test_a_trainer_that_waits_for_a_task_is_said(clean_run):
    found = _stacks(clean_run, "client.py", "FlareAgent.get_task (nvflare/client/flare_agent.py:289)")
    assert found == {"site-1": "client.py:41, where it waits for a task"}


def test_a_librarys_line_is_none(clean_run):
    assert _stacks(clean_run, "library.py") == {}


def test_a_run_without_an_autopsy_has_none(clean_run):
    assert find_lines(open_run(clean_run)) == {}
