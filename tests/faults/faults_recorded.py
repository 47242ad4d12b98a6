"""Faults in what a run left behind: each damages a copy of a recorded run that passed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recorded_edits import each_event, removed, replaced

GPUS = "pt_ddp-h200-x2-2"
SERVER = "job/workspace/pt_ddp/server"


@dataclass(frozen=True)
class RecordedFault:
    """What is done to a recorded run, and what has to come of it."""

    name: str
    cause: str
    """Regular expression that finds the cause."""
    damage: Callable[[Path], None]
    recording: str = "pt_ddp-cpu-2"
    verdict: str = "FAIL"


def _server_log_cut(run):
    path = run / SERVER / "log.txt"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _evidence_cut(run):
    path = run / "evidence" / "site-2.rank-1.jsonl"
    path.write_bytes(path.read_bytes()[:-40])


def _logs_gone(run):
    for path in (run / SERVER).iterdir():
        path.unlink()


def _evidence(kind, change, files="site-*"):
    """Return what alters the events of a kind in files of evidence."""

    def altered(event):
        if event["event"] == kind:
            change(event)

    return lambda run: [each_event(path, altered)(run) for path in (run / "evidence").glob(f"{files}.jsonl")]


def _sampled(**figures):
    """Return what alters every sample of the last of the GPUs."""
    return each_event("samples.jsonl", lambda event: event["gpus"][max(event["gpus"])].update(figures))


def _clock(step_s):
    """Return what moves all times after the first round."""

    def altered(event):
        event["time"] += step_s if event.get("round", 1) else 0

    return lambda run: [each_event(path, altered)(run) for path in (run / "evidence").glob("*.jsonl")]


ON_CPU = {"uuid": None, "name": None, "device": "cpu", "backend": "gloo"}


FAULTS = [
    RecordedFault("server log cut in half", r"\d of 3 rounds aggregated", _server_log_cut),
    RecordedFault("evidence of a rank cut off", r"site-2 rank 1 trained rounds", _evidence_cut),
    RecordedFault("server logs deleted", r"aggregated|left no log", _logs_gone, verdict="UNPROVEN|FAIL"),
    RecordedFault(
        "wrong device",
        r"site-1 rank 1 ran on GPU-of-somebody-else",
        replaced("evidence/site-1.rank-1.jsonl", '"uuid": "GPU-[^"]*"', '"uuid": "GPU-of-somebody-else"'),
        GPUS,
    ),
    RecordedFault(
        "trained on CPU instead of GPUs",
        r"ran on CPU with gloo; it was given GPU-",
        _evidence("device", lambda event: event.update(ON_CPU)),
        GPUS,
    ),
    RecordedFault(
        "one of two GPUs idle all the time",
        r"0 %.* did not work for this run",
        _sampled(utilisation=0, process_utilisation={}),
        GPUS,
    ),
    RecordedFault(
        "one of two GPUs worked for another process",
        r"with 0 MiB held by its trainers|rank \d held no memory on GPU-",
        _sampled(processes={"1": 9000}),
        GPUS,
    ),
    RecordedFault(
        "rank 1 of two went through no sample",
        r"site-1 rank 1 .*after 0 samples",
        _evidence("round", lambda event: event.update(samples=0), "site-*.rank-1"),
    ),
    RecordedFault("clock an hour back after round 1", r"clock", _clock(-3600), verdict="UNPROVEN"),
    RecordedFault("clock an hour on after round 1", r"clock", _clock(3600), verdict="UNPROVEN"),
    RecordedFault(
        "rounds that overlap",
        r"had no time for|not within the server's",
        replaced("evidence/site-1.rank-0.jsonl", r'"seconds": [\d.]+', '"seconds": 60.0'),
        verdict="FAIL|UNPROVEN",
    ),
    RecordedFault(
        "run shorter than its training",
        r"in a run of 3.0 s",
        replaced("ended.json", r'"duration_s": ?[\d.]+', '"duration_s":3.0'),
        verdict="FAIL|UNPROVEN",
    ),
    RecordedFault(
        "only one site aggregated",
        r"0 of 3 rounds aggregated from 2 of 2",
        replaced(f"{SERVER}/log.txt", "Aggregated 2/2 results", "Aggregated 1/1 results"),
    ),
    RecordedFault(
        "final model never looked at", r"no final model", removed("evidence/job.jsonl"), verdict="UNPROVEN"
    ),
    RecordedFault("end not recorded", r"no record of its end", removed("ended.json"), verdict="UNPROVEN"),
]
