"""A recorded run of an example, and what is no PASS any more once it is altered."""

import json
import shutil

import pytest
from recorded_edits import events

from rekindle.judge import judge
from rekindle.records import RecordError

SERVER = "evidence/server.jsonl"
SAVED = "evidence/job.jsonl"
WORKSPACE = "job/workspace/hello-numpy"
SAMPLES = "samples.jsonl"
FIRST_TASK = 1795359517.5
"""Seconds since the epoch, when the server gave it."""
MODEL = f"{WORKSPACE}/server/simulate_job/models/server.npy"


def of_events(file, kind, change, only=lambda event: True):
    """Return what alters the events of a kind in a file, and drops those of which it makes None."""

    def one(event):
        return change(event) if event["event"] == kind and only(event) else event

    return lambda folder: events(folder / file, one)


def of_results(change, only=lambda event: True):
    """Return what alters what the server's component told of results."""
    return of_events(SERVER, "task", change, only)


def of_model(**changes):
    """Return what alters what was told of the saved model as it was loaded."""
    return of_events(SAVED, "model", lambda event: {**event, **changes})


def once(event):
    """Whether it is of one site in one round."""
    return (event["site"], event["round"]) == ("site-2", 1)


def in_file(path, before, after):
    """Return what replaces a text in a file of the run."""

    def altered(folder):
        text = (folder / path).read_text()
        assert before in text
        (folder / path).write_text(text.replace(before, after))

    return altered


def without_lines(path, text, after=0.0):
    """Return what drops the lines with ``text`` of a log, from a share of them on."""

    def altered(folder):
        lines = (folder / path).read_text().splitlines(keepends=True)
        first = int(after * len(lines))
        kept = [line for number, line in enumerate(lines) if number < first or text not in line]
        assert kept != lines
        (folder / path).write_text("".join(kept))

    return altered


def again(folder):
    """Tell the last result twice."""
    lines = (folder / SERVER).read_text().splitlines()
    (folder / SERVER).write_text("\n".join([*lines, lines[-1]]) + "\n")


def no_model(folder):
    """Remove the server's model."""
    (folder / MODEL).unlink()


def of_samples(change):
    """Return what alters what each sample tells of processes, with its time."""

    def one(event):
        change(event["worked"], event["time"])
        return event

    return lambda folder: events(folder / SAMPLES, one)


def told_of(site, **figures):
    """Return what has every sample tell other figures of a site's processes."""
    return of_samples(lambda worked, time: worked[site].update(figures) if site in worked else None)


def idle(site, figure="nvflare_s"):
    """Return what has a site take nothing more from before its first task on."""
    taken = []

    def change(worked, time):
        if site in worked:
            if time < FIRST_TASK:
                taken[:] = [worked[site][figure]]
            worked[site][figure] = taken[0]

    return of_samples(change)


def launched(site_trains):
    """Return what has site-1 launch trainers, which take so much a second."""

    def altered(folder):
        for config in (folder / WORKSPACE / "site-1").rglob("config_fed_client.json"):
            told = json.loads(config.read_text())
            told["components"].append({"id": "launcher", "path": "x.SubprocessLauncher", "args": {}})
            config.write_text(json.dumps(told))

        def change(worked, time):
            if "site-1" in worked and site_trains is not None:
                worked["site-1"]["others_s"] = 1.0 + site_trains * max(0.0, time - FIRST_TASK)

        of_samples(change)(folder)

    return altered


def cut_model(folder):
    """Take the last bytes of the server's model."""
    (folder / MODEL).write_bytes((folder / MODEL).read_bytes()[:-8])


def model_of_the_beginning(folder):
    """Have the server begin with what it saved."""
    saved = json.loads((folder / SAVED).read_text())
    of_events(SERVER, "model", lambda event: {**event, "digest": saved["digest"]})(folder)


def never_asked_to_end(folder):
    """Drop both lines of a site's log that tell of its end."""
    for text in ("asked to end the run", "request from Server to end current RUN"):
        without_lines(f"{WORKSPACE}/site-1/log.txt", text)(folder)


LIES = {
    "a site took no CPU time for its tasks": (idle("site-1"), "every_site_worked"),
    "a site took none ever": (told_of("site-1", nvflare_s=0.0), "every_site_worked"),
    "a site was never seen": (of_samples(lambda worked, time: worked.pop("site-2", 0)), "every_site_worked"),
    "nothing is told of processes": (of_samples(lambda worked, time: worked.clear()), "every_site_worked"),
    "a site's trainers took no CPU time": (launched(0.0), "every_site_worked"),
    "a site's trainers were never seen": (launched(None), "every_site_worked"),
    "a site sent back what it was sent": (
        of_results(lambda event: {**event, "moved": 0.0}, once),
        "every_site_trained",
    ),
    "a site sent zeros": (of_results(lambda event: {**event, "norm": 0.0}, once), "every_site_trained"),
    "a site sent nothing": (
        of_results(lambda event: {**event, "values": 0, "bytes": 0, "norm": None, "finite": None}, once),
        "every_site_trained",
    ),
    "a result was compared with nothing": (
        of_results(lambda event: {**event, "moved": None}, once),
        "every_site_trained",
    ),
    "no result is of training": (
        of_results(lambda event: {**event, "task": "validate"}),
        "every_site_trained",
    ),
    "a result is not finite": (
        of_results(lambda event: {**event, "finite": False, "norm": None}, once),
        "results_are_sound",
    ),
    "a site could not": (
        of_results(lambda event: {**event, "return_code": "EXECUTION_EXCEPTION"}, once),
        "results_are_sound",
    ),
    "a result is not told": (of_results(lambda event: None, once), "server_told_every_result"),
    "no result is told": (of_results(lambda event: None), "server_told_every_result"),
    "a result is told twice": (again, "server_told_every_result"),
    "a result is of the round before": (
        of_results(lambda event: {**event, "round": 0}, once),
        "server_told_every_result",
    ),
    "a result is of a stranger": (
        of_results(lambda event: {**event, "site": "site-9"}, once),
        "server_told_every_result",
    ),
    "a result is of another run": (
        of_results(lambda event: {**event, "nonce": "0" * 32}, once),
        "all_of_this_run",
    ),
    "a result is of another day": (
        of_results(lambda event: {**event, "time": event["time"] - 86400}, once),
        "all_within_the_run",
    ),
    "the spec describes no example": (in_file("spec.json", '"example"', '"code"'), None),
    "the model is gone": (no_model, "global_model_saved"),
    "the model was not loaded": (of_events(SAVED, "model", lambda event: None), "saved_models_load"),
    "the model is cut": (cut_model, "saved_models_load"),
    "the model does not load": (
        of_model(error="ValueError: cannot reshape", values=0, norm=None, digest=None),
        "saved_models_load",
    ),
    "the model is not finite": (of_model(finite=False, norm=None), "saved_models_load"),
    "the model is zeros": (of_model(norm=0.0), "saved_models_load"),
    "the model has no weights": (
        of_model(values=0, finite=None, norm=None, digest=None),
        "saved_models_load",
    ),
    "the model is the first one": (model_of_the_beginning, "saved_models_load"),
    "another model was loaded": (of_model(sha256="0" * 63 + "1"), "saved_models_load"),
    "job.py failed": (in_file("ended.json", '"exit_status": 0', '"exit_status": 1'), None),
    "the server's log ends early": (without_lines(f"{WORKSPACE}/server/log.txt", "", 0.5), "logs_are_whole"),
    "a round was not aggregated": (
        without_lines(f"{WORKSPACE}/server/log.txt", "Aggregated 2/2"),
        "rounds_completed",
    ),
    "a site had no task": (
        without_lines(f"{WORKSPACE}/server/log.txt", "assigned task to client site-2"),
        "sites_had_the_servers_tasks",
    ),
    "a site's log lacks a task": (
        without_lines(f"{WORKSPACE}/site-2/log.txt", "got task assignment", 0.6),
        "sites_had_the_servers_tasks",
    ),
    "a site's log has no result": (
        without_lines(f"{WORKSPACE}/site-2/log.txt", "task result sent to server", 0.6),
        "sites_had_the_servers_tasks",
    ),
    "a site was not asked to end": (
        never_asked_to_end,
        "sites_had_the_servers_tasks",
    ),
    "it was asked for more rounds": (in_file("spec.json", '"rounds": 3', '"rounds": 4'), "rounds_completed"),
    "nothing tells when the run began": (
        in_file("ended.json", '"started": "2', '"started": "x2'),
        "all_within_the_run",
    ),
    "a site's result is not in the log": (
        without_lines(f"{WORKSPACE}/server/log.txt", "got result from client site-2"),
        "server_told_every_result",
    ),
}


@pytest.fixture
def example(recordings, tmp_path):
    """Return a copy of the recorded run."""
    return shutil.copytree(recordings / "examples" / "hello-numpy", tmp_path / "run")


def test_it_passes_as_it_was_recorded(example):
    verdict = judge(example)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    assert len(verdict.rounds) == 6
    assert next(result for result in verdict.evidence if result.claim == "saved_models_load").holds


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_no_pass(example, lie):
    change, seen_by = LIES[lie]
    change(example)
    try:
        verdict = judge(example)
    except RecordError:
        return
    assert verdict.verdict != "PASS"
    assert seen_by is None or seen_by in {
        result.claim for result in verdict.evidence if result.holds is not True
    }


@pytest.mark.parametrize(("code", "kind"), [("-15", "PASS"), ("1", "FAIL")])
def test_the_console_repeats_what_is_harmless_in_a_log_in_colours_too(example, code, kind):
    with (example / "job.log").open("a") as stream:
        stream.write(f"\x1b[31m2026-11-22 11:36:20,000 - ERROR - App stopped with RC {code}\x1b[0m\n")
    assert judge(example).verdict == kind


@pytest.mark.parametrize(("moment", "kind"), [("after", "PASS"), ("before", "UNPROVEN")])
def test_a_rank_that_is_gone_is_harmless_only_after_the_end(example, moment, kind):
    says = "RuntimeError: [/x/gloo/transport/tcp/pair.cc:1] Read error [::1]:1: Connection reset by peer."
    log = example / WORKSPACE / "site-1" / "log.txt"
    lines = log.read_text().splitlines(keepends=True)
    end = next(number for number, line in enumerate(lines) if "server asked to end the run" in line)
    at = end + 1 if moment == "after" else 40
    lines.insert(at, f"{lines[at - 1][:23]} - SubprocessLauncher - INFO - {says}\n")
    log.write_text("".join(lines))
    assert judge(example).verdict == kind


@pytest.mark.parametrize(("says", "kind"), [("with multi GPU", "PASS"), ("late", "UNPROVEN")])
def test_a_simulator_that_is_told_its_gpus_says_so_first(example, says, kind):
    path = example / WORKSPACE / "server" / "log.txt"
    log = path.read_text()
    first = f"When running {says}, each GPU group will run with only 1 thread. Set the Threads to 1."
    path.write_text(f"{log[:23]} - SimulatorRunner - INFO - {first}\n{log}")
    assert judge(example).verdict == kind


def test_a_mend_and_a_stand_in_are_said(example):
    spec = json.loads((example / "spec.json").read_text())
    mend = {"file": "job.py", "before": "a", "after": "b", "because": "it was a", "fault": "upstream"}
    spec["job"]["example"] |= {"data": ["cifar10"], "mends": [mend]}
    (example / "spec.json").write_text(json.dumps(spec))
    said = next(result for result in judge(example).evidence if result.claim == "runs_as_described")
    assert said.holds
    assert said.says.endswith(
        "job.py mended (it was a; fault: upstream); data: a stand-in for cifar10, not the real one."
    )


def _worked(run):
    return next(result for result in judge(run).evidence if result.claim == "every_site_worked")


def test_what_each_site_took_is_told(example):
    said = "CPU time from the first task to the last result: "
    ours = "site-1 0.09 s in NVFlare's client"
    assert _worked(example).says == f"{said}site-2 0.09 s in NVFlare's client; {ours}."
    launched(2.0)(example)
    told = _worked(example)
    assert told.holds
    assert told.says.endswith(f"; {ours} and 11.63 s in what that launched.")


def test_so_short_a_time_that_the_kernel_counts_none_is_no_failure(example):
    """Of a site that had its only task and its result between two samples."""
    before = of_samples(lambda worked, time: worked.clear() if time < FIRST_TASK + 4 else None)
    before(example)
    assert judge(example).verdict == "PASS"


def test_a_job_of_the_users_own_is_told_by_its_code(example):
    spec = json.loads((example / "spec.json").read_text())
    spec["job"]["example"]["folder"] = None
    spec["versions"]["code"] = "0123456789ab"
    (example / "spec.json").write_text(json.dumps(spec))
    said = next(result for result in judge(example).evidence if result.claim == "runs_as_described")
    assert said.says == "hello-numpy, the user's own, its code 0123456789ab."


@pytest.mark.parametrize("gpus", [(), (["GPU-a"], ["GPU-a"])])
def test_a_mend_for_the_cpu_is_said_only_where_there_was_no_gpu(example, gpus):
    spec = json.loads((example / "spec.json").read_text())
    mend = {"file": "job.py", "before": "a", "after": "b", "because": "no GPU", "fault": "example"}
    spec["job"]["example"] |= {"mends": [{**mend, "where": "cpu"}]}
    for site, own in zip(spec["sites"], gpus, strict=False):
        site["gpus"] = own
    spec["gpus"] = [{"uuid": "GPU-a", "index": 0, "name": None, "memory_mib": None}] if gpus else []
    (example / "spec.json").write_text(json.dumps(spec))
    said = next(result for result in judge(example).evidence if result.claim == "runs_as_described")
    assert ("mended" in said.says) is not bool(gpus)
