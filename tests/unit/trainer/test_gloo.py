# SPDX-License-Identifier: Apache-2.0
"""A process that ends waits for threads of gloo's that are at work, and for no others, and not forever."""

import sys

import pytest
from runners.commands import capture_command
from runners.gloo_threads import FOR_EVER, busy

RESTS = "from rekindle.trainer import gloo; gloo.wait_at_exit()\n"


def ended(script, *, well=False):
    """Return what it prints; Python may crash where a thread works as it ends, unless it ends ``well``."""
    return capture_command([sys.executable, "-c", script], check=well, timeout=60).stdout


def test_a_thread_of_gloos_ends_what_it_does():
    assert ended(busy(times=FOR_EVER)) == ""
    assert ended(RESTS + busy(), well=True) == "over\n"


@pytest.mark.parametrize("name", ["pt_tcpstore_uv", "python"])
def test_another_thread_is_not_waited_for(name):
    assert ended(RESTS + busy(name, FOR_EVER)) == ""


def test_one_that_never_rests_is_left():
    assert ended(f"{RESTS}gloo._LIMIT_S = 0.5\n{busy(times=FOR_EVER)}") == ""
