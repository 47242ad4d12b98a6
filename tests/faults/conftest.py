# SPDX-License-Identifier: Apache-2.0
"""Runs the chosen faults, several at a time, and prints the table of what came of each."""

import json
import re
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest
from fault_runs import inject
from fault_table import Row, show, write
from row_reports import Reported
from runners.commands import capture_command

from rekindle.records import EnvRecord, read_record

REPORT = Path(__file__).parents[2] / "results" / "faults.json"
REPORTED = pytest.StashKey[Reported]()
EACH = """
import json, sys, textwrap, traceback
begin, table = json.load(sys.stdin)
failed = {}
for what, lines in table.items():
    try:
        exec(begin + textwrap.dedent(lines), {})
        failed[what] = None
    except Exception:
        failed[what] = traceback.format_exc()
print(json.dumps(failed))
"""


@pytest.fixture(scope="session")
def outcomes(chosen, host_records, runs_at_once, tmp_path_factory, judged):
    """Return a future for the outcome of each fault and clean run that was chosen, by its name.

    What has to be ``judged`` begins before them, so that none waits for the last of the faults.
    """
    return {
        run.name: runs_at_once.submit(
            inject, run, host_records, tmp_path_factory.mktemp(re.sub(r"\W+", "-", run.name)[:16])
        )
        for run in chosen("outcomes", "run")
    }


@pytest.fixture(scope="session")
def torch_python(host_records):
    """Return the interpreter of the torch environment."""
    environments = read_record(host_records / "env.json", EnvRecord).environments
    return next(environment.python for environment in environments if environment.framework == "torch")


@pytest.fixture(scope="session")
def in_torch(torch_python, pytestconfig):
    """Return what runs a table's Python in the torch environment, and why lines of it failed, by their name.

    Each line runs with names of its own, after the beginning; one process runs all.
    """
    env = {"PYTHONPATH": str(pytestconfig.rootpath / "src")}

    @cache
    def run(begin, table):
        answer = json.dumps([begin, dict(table)])
        done = capture_command([torch_python, "-c", EACH], input=answer, env=env, check=True)
        return json.loads(done.stdout.splitlines()[-1])

    return lambda begin, table, what: run(begin, tuple(table.items()))[what]


@pytest.fixture
def report(record_property):
    """Return what adds a row to the table at the end."""
    return lambda row: record_property("faults", [asdict(row)])


def pytest_configure(config):
    config.stash[REPORTED] = Reported("faults")
    config.pluginmanager.register(config.stash[REPORTED])


def pytest_terminal_summary(terminalreporter, config):
    rows = [Row(**row) for row in config.stash[REPORTED].rows]
    if rows:
        terminalreporter.section("faults")
        terminalreporter.write(show(rows))
        if not config.option.keyword:  # benchmarks/faults.md tells of the whole suite
            write(rows, REPORT)
