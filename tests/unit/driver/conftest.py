# SPDX-License-Identifier: Apache-2.0
"""Children of the tests' own, as processes to look at."""

import subprocess
import sys

import pytest


@pytest.fixture
def child():
    """Start Python on a program with these arguments: it prints a line and waits for its input's end."""
    started = []

    def start(code, *words):
        command = [sys.executable, "-c", code, *words]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"\n"
        return process.pid

    yield start
    for process in started:
        process.communicate(timeout=30)
