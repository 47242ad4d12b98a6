"""Faults in what a run left behind: each damages a copy of a recorded run that passed."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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


def _edit(path, old, new):
    text = path.read_text()
    changed = re.sub(old, new, text, flags=re.M)
    assert changed != text, f"nothing in {path} matches {old}"
    path.write_text(changed)


def _events(run, name, change):
    """Put every event of a file through ``change``; None drops it."""
    path = run / name
    changed = [change(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(event) + "\n" for event in changed if event is not None))


def _server_log_cut(run):
    path = run / SERVER / "log.txt"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _evidence_cut(run):
    path = run / "evidence" / "site-2.rank-1.jsonl"
    path.write_bytes(path.read_bytes()[:-40])


def _logs_gone(run):
    for path in (run / SERVER).iterdir():
        path.unlink()


def _wrong_device(run):
    _edit(run / "evidence/site-1.rank-1.jsonl", r'"uuid": "GPU-[^"]*"', '"uuid": "GPU-of-somebody-else"')


def _on_cpu(run):
    on_cpu = {"uuid": None, "name": None, "device": "cpu", "backend": "gloo"}
    for path in (run / "evidence").glob("site-*.jsonl"):
        _events(
            run,
            f"evidence/{path.name}",
            lambda event: {**event, **on_cpu} if event["event"] == "device" else event,
        )


def _sampled(change):
    """Return what puts every sample of the last of the GPUs through ``change``."""

    def damage(run):
        def one_less(event):
            last = max(event["gpus"])
            return {**event, "gpus": {**event["gpus"], last: change(last, event["gpus"][last])}}

        _events(run, "samples.jsonl", one_less)

    return damage


def _only_rank_0(run):
    for site in ("site-1", "site-2"):
        _events(
            run,
            f"evidence/{site}.rank-1.jsonl",
            lambda event: {**event, "samples": 0} if event["event"] == "round" else event,
        )


def _clock(step_s):
    """Return what moves all times after the first round."""

    def damage(run):
        for path in (run / "evidence").glob("*.jsonl"):
            _events(
                run,
                f"evidence/{path.name}",
                lambda event: {**event, "time": event["time"] + step_s} if event.get("round", 1) else event,
            )

    return damage


def _times_copied(run):
    """Every round took as long as the others and began before the one before it had ended."""
    _edit(run / "evidence/site-1.rank-0.jsonl", r'"seconds": [\d.]+', '"seconds": 60.0')


def _shorter_than_its_training(run):
    _edit(run / "ended.json", r'"duration_s": ?[\d.]+', '"duration_s":3.0')


def _one_site_aggregated(run):
    _edit(run / SERVER / "log.txt", r"Aggregated 2/2 results", "Aggregated 1/1 results")


def _final_model_gone(run):
    (run / "evidence" / "job.jsonl").unlink()


def _end_gone(run):
    (run / "ended.json").unlink()


FAULTS = [
    RecordedFault("server log cut in half", r"\d of 3 rounds aggregated", _server_log_cut),
    RecordedFault("evidence of a rank cut off", r"site-2 rank 1 trained rounds", _evidence_cut),
    RecordedFault("server logs deleted", r"aggregated|left no log", _logs_gone, verdict="UNPROVEN|FAIL"),
    RecordedFault("wrong device", r"site-1 rank 1 ran on GPU-of-somebody-else", _wrong_device, GPUS),
    RecordedFault(
        "trained on CPU instead of GPUs", r"ran on CPU with gloo; it was given GPU-", _on_cpu, GPUS
    ),
    RecordedFault(
        "one of two GPUs idle all the time",
        r"0 %.* did not work for this run",
        _sampled(lambda _, gpu: {**gpu, "utilisation": 0, "process_utilisation": {}}),
        GPUS,
    ),
    RecordedFault(
        "one of two GPUs worked for another process",
        r"with 0 MiB held by its trainers|rank \d held no memory on GPU-",
        _sampled(lambda _, gpu: {**gpu, "processes": {"1": 9000}}),
        GPUS,
    ),
    RecordedFault("rank 1 of two went through no sample", r"site-1 rank 1 .*after 0 samples", _only_rank_0),
    RecordedFault("clock an hour back after round 1", r"clock", _clock(-3600), verdict="UNPROVEN"),
    RecordedFault("clock an hour on after round 1", r"clock", _clock(3600), verdict="UNPROVEN"),
    RecordedFault(
        "rounds that overlap",
        r"had no time for|not within the server's",
        _times_copied,
        verdict="FAIL|UNPROVEN",
    ),
    RecordedFault(
        "run shorter than its training",
        r"in a run of 3.0 s",
        _shorter_than_its_training,
        verdict="FAIL|UNPROVEN",
    ),
    RecordedFault("only one site aggregated", r"0 of 3 rounds aggregated from 2 of 2", _one_site_aggregated),
    RecordedFault("final model never looked at", r"no final model", _final_model_gone, verdict="UNPROVEN"),
    RecordedFault("end not recorded", r"no record of its end", _end_gone, verdict="UNPROVEN"),
]
