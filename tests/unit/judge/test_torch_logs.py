# SPDX-License-Identifier: Apache-2.0
"""What torch logs of ranks that end, in the logs of a site and of the console."""

import pytest
from samples.edits import result_of

from rekindle.judge import judge_run

SITE_LOG = "job/workspace/hello-numpy/site-1/log.txt"
TORCH = "E1126 02:32:03.332000 20323 torch/distributed/elastic/agent/server/api.py:1008] "
ENDED_FIRST = {
    "gloo": "RuntimeError: [/x/gloo/transport/tcp/pair.cc:1] Read error [::1]:1: Connection reset by peer.",
    "torchrun": f"{TORCH}Error waiting on exit barrier. Elapsed: 2.0 seconds\n"
    f"{TORCH}Traceback (most recent call last):\n"
    f'{TORCH}  File "torch/distributed/elastic/utils/store.py", line 201, in barrier\n'
    f"{TORCH}torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed.",
}


def _find_moment(lines, moment):
    """Return the line of a site's log after the server asked it to end, or one long before."""
    end = next(number for number, line in enumerate(lines) if "server asked to end the run" in line)
    return end + 1 if moment == "after" else 40


@pytest.mark.parametrize("printed", ENDED_FIRST)
@pytest.mark.parametrize(("moment", "kind"), [("after", "PASS"), ("before", "UNPROVEN")])
def test_a_rank_that_ended_is_harmless_only_after_the_end(example, moment, kind, printed):
    log = example / SITE_LOG
    lines = log.read_text().splitlines(keepends=True)
    at = _find_moment(lines, moment)
    prefix = f"{lines[at - 1][:23]} - SubprocessLauncher - INFO - "
    lines[at:at] = [f"{prefix}{line}\n" for line in ENDED_FIRST[printed].splitlines()]
    log.write_text("".join(lines))
    with (example / "job.log").open("a") as stream:
        stream.write(f"{ENDED_FIRST[printed]}\n")
    assert judge_run(example).verdict == kind


@pytest.mark.parametrize(("moment", "kind"), [("after", "PASS"), ("before", "FAIL")])
def test_a_message_that_comes_as_pools_close_is_harmless_only_after_the_end(example, moment, kind):
    log = example / SITE_LOG
    lines = log.read_text().splitlines(keepends=True)
    at = _find_moment(lines, moment)
    said = "cannot schedule new futures after shutdown"
    logged = f"{lines[at - 1][:23]} - blob_streamer - ERROR - blob_cb threw: {said}\n"
    logged += (
        f'Traceback (most recent call last):\n  File "thread.py", line 167, in submit\nRuntimeError: {said}\n'
    )
    lines.insert(at, logged)
    log.write_text("".join(lines))
    (log.parent / "log_error.txt").write_text(logged)
    assert judge_run(example).verdict == kind


def test_a_metric_by_the_name_of_an_error_and_a_quoted_traceback_are_no_failures(example):
    log = example / SITE_LOG
    prefix = f"{log.read_text().splitlines()[-2][:23]} - SubprocessLauncher - INFO - "
    printed = ("Traceback (most recent call last):", "would be seen here", "MeanSquaredError: 0.31")
    lines = log.read_text().splitlines(keepends=True)
    lines[-1:-1] = [f"{prefix}{line}\n" for line in printed]
    log.write_text("".join(lines))
    with (example / "job.log").open("a") as stream:
        stream.writelines(f"{line}\n" for line in printed)
    assert judge_run(example).verdict == "PASS"


def test_an_exception_that_torch_logged_is_read_behind_its_prefix(example):
    log = example / SITE_LOG
    lines = log.read_text().splitlines(keepends=True)
    prefix = f"{lines[-2][:23]} - SubprocessLauncher - INFO - [rank1]:{TORCH}"
    lines[-1:-1] = [f"{prefix}Traceback (most recent call last):\n", f"{prefix}ValueError: shapes differ\n"]
    log.write_text("".join(lines))
    verdict = judge_run(example)
    assert verdict.verdict == "UNPROVEN"
    assert "ValueError: shapes differ" in result_of(verdict, "trainers_print_no_failure").message
