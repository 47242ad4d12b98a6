# SPDX-License-Identifier: Apache-2.0
"""Changes after which a recorded run is as true as before: each still passes."""

import itertools
import json
import re
from datetime import datetime, timedelta

import pytest
from mutation_runs import RECORDINGS, RunCopy, clone

STAMP = re.compile(r"(?:\x1b\[[\d;]*m)?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})")
FORM = "%Y-%m-%d %H:%M:%S,%f"
RECORDED = "%Y-%m-%dT%H:%M:%SZ"
NOISE = (
    "warnings - WARNING - /opt/torch/x.py:21: FutureWarning: `y` is deprecated",
    "SubprocessLauncher - INFO - WARNING: All messages before absl::InitializeLog() are written to STDERR",
    "ClientRunner - INFO - no errors so far",
    "SubprocessLauncher - INFO - errors=0 failures=0",
)
AT_THE_END = (
    "conn_manager - INFO - Connection [CN00002 Not Connected] is closed PID: 4711",
    "FlowerExecutor - INFO - stopping applet",
)
ON_STDERR = (
    "resource_tracker.py:279: UserWarning: There appear to be 1 leaked semaphore objects",
    "W1121 02:30:00.000000 4711 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable",
)


def _move_logs(run, moved):
    """Put the time of every line of every log through ``moved``."""

    def line_moved(line):
        found = STAMP.match(line)
        if not found:
            return line
        return line.replace(found[1], moved(datetime.strptime(found[1], FORM)).strftime(FORM)[:-3], 1)

    for log in run.logs:
        log[:] = map(line_moved, log)


def _another_zone(run, rng):
    seconds = 900 * rng.randint(-48, 56)
    _move_logs(run, lambda at: at + timedelta(seconds=seconds))


def _another_day(run, rng):
    seconds = 86400 * rng.choice((-400, -1, 1, 30)) + rng.randint(0, 5000)
    _move_logs(run, lambda at: at + timedelta(seconds=seconds))
    for event in run.every_event:
        event["time"] += seconds
    run.ended["started"] = (_started(run) + timedelta(seconds=seconds)).strftime(RECORDED)
    if clock := run.spec.get("clock"):
        asked = datetime.strptime(clock["asked"], RECORDED) + timedelta(seconds=seconds)
        clock["asked"] = asked.strftime(RECORDED)


def _slower(run, rng):
    """Everything took three times as long, from the start on; logs are in UTC."""
    began, epoch = _started(run), datetime(1970, 1, 1)
    since = (began - epoch).total_seconds()
    first = datetime.strptime(next(filter(None, map(STAMP.match, run.log("server"))))[1], FORM)
    zone = timedelta(seconds=round((first - began).total_seconds() / 900) * 900)
    _move_logs(run, lambda at: began + zone + (at - began - zone) * 3)
    for event in run.every_event:
        event["time"] = since + (event["time"] - since) * 3
        if event["event"] == "round":
            event["seconds"] *= 3
    run.ended["duration_s"] *= 3


def _started(run):
    return datetime.strptime(run.ended["started"], RECORDED)


def _more_samples(run, rng):
    """Each again, halfway to the next one, and in another order."""
    samples = run.events_of("samples.jsonl")
    pairs = [*itertools.pairwise(samples)]
    samples += [{**clone(first), "time": (first["time"] + then["time"]) / 2} for first, then in pairs]
    rng.shuffle(samples)


def _a_last_sample_cut_off(run, rng):
    content = run.files["samples.jsonl"]
    last = content.splitlines()[-1]
    run.write("samples.jsonl", content + last[: rng.randint(5, len(last) - 5)])


def _noise_in_a_log(run, rng):
    log = run.log(rng.choice(run.members))
    place = rng.choice([place for place, line in enumerate(log) if place > 3 and STAMP.match(line)])
    log.insert(place, f"{STAMP.match(log[place])[1]} - {rng.choice(NOISE)}")


def _a_thread_that_writes_after_a_sites_last_line(run, rng):
    log = run.log(rng.choice(run.sites))
    last = max(place for place, line in enumerate(log) if STAMP.match(line))
    log.insert(last + 1, f"{STAMP.match(log[last])[1]} - {rng.choice(AT_THE_END)}")


def _noise_on_stderr(run, rng):
    run.write("job.log", "\n".join((*ON_STDERR, "")).encode() + run.files["job.log"])


def _another_host_and_folder(run, rng):
    run.spec.update(host="another", python="/opt/x/bin/python", tmpdir="/var/x", cache="/var/cache/x")


def _files_of_others(run, rng):
    run.write("job/notes.txt", b"Traceback (most recent call last):\n")
    run.write("core.4711", bytes(range(256)))


def _keys_in_another_order(run, rng):
    for path in run.evidence:
        lines = [dict(sorted(json.loads(line).items())) for line in run.files[path].splitlines()]
        run.write(path, "".join(f"{json.dumps(line)}\r\n" for line in lines).encode())


CHANGES = {
    function.__name__.strip("_"): function
    for function in (
        *(_another_zone, _another_day, _slower, _more_samples, _a_last_sample_cut_off, _noise_in_a_log),
        *(_a_thread_that_writes_after_a_sites_last_line, _noise_on_stderr, _another_host_and_folder),
        *(_files_of_others, _keys_in_another_order),
    )
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_run_that_is_changed_honestly_passes(bench, runs_for, name):
    for recording, rng in runs_for(name, RECORDINGS):
        run = RunCopy(recording)
        CHANGES[name](run, rng)
        assert run.changes()
        verdict = bench.judge(recording, run.changes())
        assert (verdict.verdict, verdict.cause) == ("PASS", None)
