# SPDX-License-Identifier: Apache-2.0
"""Where NVFlare's simulator has fewer threads than sites, it restarts a client for each of its turns."""

import pytest

from rekindle.judge import judge_run

STAMP = "2026-11-22 14:59:{:02d},000 - "
ENDS = "ClientTaskWorker - INFO - Finished one task run for client: site-1 interval: 2 task_processed: True"
BEGINS = "ClientTaskWorker - INFO - ClientTaskWorker started to run"
WAITS = "ClientTaskWorker - INFO - Initialize ClientRunner for client: site-1"
GETS = "ClientRunner - INFO - [identity=site-1, run=simulate_job] - got task assignment: name=train, id=1"


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ((ENDS, BEGINS, WAITS), "holds"),
        ((ENDS, BEGINS, WAITS, BEGINS, WAITS), "holds"),
        ((ENDS, BEGINS, WAITS, GETS, ENDS), "holds"),
        ((ENDS, BEGINS, WAITS, GETS), "unknown"),
        ((ENDS, BEGINS, WAITS, GETS, BEGINS, WAITS), "unknown"),
        ((ENDS, WAITS), "unknown"),
    ],
)
def test_a_turn_without_a_task_owes_no_end(example, lines, state):
    log = example / "job/workspace/hello-numpy/site-1/log.txt"
    with log.open("a") as stream:
        stream.writelines(f"{STAMP.format(3 * at)}{line}\n" for at, line in enumerate(lines))
    found = next(result for result in judge_run(example).evidence if result.claim == "logs_are_whole")
    assert found.state == state, found.message
