"""Lies that look consistent: several files altered together, or taken from elsewhere."""

import re

from lies_in_figures import rounds
from lies_in_models import digest, last_round
from lies_in_times import move_events, move_logs, move_stamp, move_start
from log_edits import places
from mutation_kinds import both, lie, on_gpus, pick, several_sites, spec2
from mutation_runs import clone, recordings


def _cloned(run, rng, site, other):
    """Put a site's evidence in place of another's: renamed, by other processes, a moment later."""
    off = rng.uniform(0.001, 0.01)
    for rank in range(run.ranks(other)):
        events = run.events_of(f"evidence/{other}.rank-{rank}.jsonl")
        mine = {event["event"]: event for event in events}["device"]
        copied = clone(run.events_of(f"evidence/{site}.rank-{rank}.jsonl"))
        for event in copied:
            event.update(site=other, time=round(event["time"] + off, 3))
            if event["event"] == "device":
                event.update(pid=mine["pid"], uuid=mine["uuid"], name=mine["name"], device=mine["device"])
        run.events_of(f"evidence/{other}.rank-{rank}.jsonl")[:] = copied


def _equal_sites(run):
    return several_sites(run) and len({run.ranks(site) for site in run.sites}) == 1


@lie("clones", _equal_sites)
def _a_site_is_a_clone_of_another(run, rng):
    _cloned(run, rng, *rng.sample(run.sites, 2))


@lie("clones", _equal_sites)
def _a_site_is_a_clone_of_another_that_sends_models_of_its_own(run, rng):
    """To the last digit it has the other's losses."""
    site, other = rng.sample(run.sites, 2)
    _cloned(run, rng, site, other)
    new = {}
    for event in run.of("round", site=other):
        event["model_out"] = new.setdefault(event["model_out"], digest(rng))


@lie("clones", _equal_sites)
def _a_site_is_a_clone_of_another_with_its_log(run, rng):
    site, other = rng.sample(run.sites, 2)
    _cloned(run, rng, site, other)
    log = run.files[f"{run.workspace}/{site}/log.txt"].replace(site.encode(), other.encode())
    run.write(f"{run.workspace}/{other}/log.txt", log)


@lie("clones", lambda run: all(run.ranks(site) > 1 for site in run.sites))
def _a_rank_is_a_clone_of_another(run, rng):
    """With its process: only the number of the rank is another."""
    site = pick(rng, run.sites)
    source, other = (f"evidence/{site}.rank-{rank}.jsonl" for rank in rng.sample(range(run.ranks(site)), 2))
    rank = run.events_of(other)[0]["rank"]
    pids = [run.events_of(path)[0]["pid"] for path in (source, other)]
    if len(set(pids)) == 1:
        pick(rng, ())
    run.events_of(other)[:] = [{**event, "rank": rank} for event in clone(run.events_of(source))]


def _other_of_job(run, rng):
    job = run.name.split("-")[0]
    return run.copy_of(
        pick(rng, [name for name in recordings() if name.split("-")[0] == job and name != run.name])
    )


def _patched(run, other):
    """Return the other run's evidence with this one's time, GPUs, nonce and sites."""
    began = {
        name: min(event["time"] for event in of.of("round", round=0)) for name, of in ((0, run), (1, other))
    }
    given = {
        (site["name"], rank): uuid for site in run.spec["sites"] for rank, uuid in enumerate(site["gpus"])
    }
    evidence = {}
    for path in other.evidence:
        events = clone(other.events_of(path))
        move_events(run, began[0] - began[1], events)
        for event in events:
            if event["event"] == "device":
                event["uuid"] = given.get((event["site"], event["rank"]), event["uuid"])
            if run.spec.get("nonce"):
                event["nonce"] = run.spec["nonce"]
        evidence[path] = events
    return evidence


@lie("another run")
def _all_evidence_of_another_run_of_the_job(run, rng):
    other = _other_of_job(run, rng)
    for path in run.evidence:
        run.remove(path)
    for path in other.evidence:
        run.write(path, other.files[path])


@lie("another run")
def _all_evidence_of_another_run_at_this_time_and_on_these_gpus(run, rng):
    other = _other_of_job(run, rng)
    evidence = _patched(run, other)
    for path in run.evidence:
        run.remove(path)
    for path, events in evidence.items():
        run.add_events(path, events)


@lie("another run")
def _all_of_another_run_but_spec_and_end(run, rng):
    other = _other_of_job(run, rng)
    for path in [path for path in run.files if path not in ("spec.json", "ended.json")]:
        run.remove(path)
    for path, content in other.files.items():
        if path not in ("spec.json", "ended.json"):
            run.write(path, content)


@lie("another run")
def _a_site_s_evidence_of_another_run_at_this_time_and_on_these_gpus(run, rng):
    other = _other_of_job(run, rng)
    evidence = _patched(run, other)
    site = pick(rng, run.sites)
    for path in [path for path in run.evidence if f"/{site}." in path and path in evidence]:
        run.events_of(path)[:] = evidence[path]


@lie("another run")
def _another_run_s_workspace_beside_its_own(run, rng):
    """Which comes first by its name, and is whole."""
    other = run.copy_of(pick(rng, [name for name in recordings() if name != run.name]))
    for path, content in other.files.items():
        if path.startswith(other.workspace):
            run.files[path.replace(other.workspace, "job/workspace/a_first")] = content


def _replay(run, number, other, rng, fresh):
    """Put round ``number``'s lines in place of ``other``'s, at its times, with fresh digests or not."""
    new = {}
    for event in list(run.of("round", round=other)):
        source = run.of("round", site=event["site"], rank=event["rank"], round=number)[0]
        kept = {name: event[name] for name in ("round", "time", "seconds")}
        event.update({**clone(source), **kept})
        if fresh:
            for name in ("model_in", "model_out"):
                event[name] = new.setdefault(event[name], digest(rng))
    return new


@lie("replay")
def _a_round_is_another_one_again(run, rng):
    number, other = rng.sample(range(last_round(run) + 1), 2)
    _replay(run, number, other, rng, fresh=False)


@lie("replay")
def _a_round_is_another_one_again_under_other_digests(run, rng):
    """To the last digit it has the other's losses."""
    number, other = sorted(rng.sample(range(last_round(run) + 1), 2))
    _replay(run, number, other, rng, fresh=True)


@lie("replay", lambda run: last_round(run) > 1)
def _a_round_is_another_one_again_also_in_the_server_s_log(run, rng):
    """With the ids of its tasks."""
    log = run.log("server")
    starts = places(log, r"Round \d+ started")
    ends = [*starts[1:], places(log, r"Finished FedAvg")[0]]
    blocks = [log[start - 2 : end - 2] for start, end in zip(starts, ends, strict=True)]
    seconds = rounds(run, site=run.sites[0], rank=0)
    off = seconds[2]["time"] - seconds[1]["time"]
    copied = [re.sub(r"Round 1 started", "Round 2 started", move_stamp(line, off)) for line in blocks[1]]
    log[starts[2] - 2 : ends[2] - 2] = copied
    _replay(run, 1, 2, rng, fresh=True)


@lie("replay", lambda run: last_round(run) > 1)
def _a_task_of_one_round_is_told_in_another(run, rng):
    """In the server's log: both rounds have one task's id at one site."""
    log = run.log("server")
    ids = [
        re.search(r"id=([0-9a-f-]{36})", log[place]).group(1)
        for place in places(log, r"assigned task to client")
    ]
    task_id, other = rng.sample(ids, 2)
    log[:] = [line.replace(other, task_id) for line in log]


@lie("replay")
def _the_server_s_log_stands_twice_in_its_file(run, rng):
    log = run.log("server")
    log += list(log)


@lie("replay")
def _a_site_s_log_stands_twice_in_its_file(run, rng):
    log = run.log(pick(rng, run.sites))
    log += list(log)


@lie("times", ways=2)
def _evidence_and_end_moved_by_ten_minutes_and_the_logs_not(run, rng):
    seconds = rng.choice((-600, 600))
    move_events(run, seconds)
    move_start(run, seconds)


@lie("times", ways=2)
def _logs_and_end_moved_by_an_hour_and_the_evidence_not(run, rng):
    seconds = rng.choice((-3600, 3600))
    move_logs(run, seconds)
    move_start(run, seconds)


@lie("times", on_gpus, ways=2)
def _everything_moved_by_a_day_but_the_samples(run, rng):
    seconds = rng.choice((-86400, 86400))
    move_events(run, seconds)
    move_events(run, -seconds, run.of("sample"))
    move_start(run, seconds)
    move_logs(run, seconds)


@lie("gpu samples", on_gpus, ways=1)
def _samples_run_backwards(run, rng):
    samples = run.of("sample")
    told = [clone(sample["gpus"]) for sample in samples]
    for sample, gpus in zip(samples, reversed(told), strict=True):
        sample["gpus"] = gpus


@lie("whole", ways=1)
def _only_spec_end_and_the_host_s_verdict(run, rng):
    for path in list(run.files):
        if path not in ("spec.json", "ended.json", "verdict.json"):
            run.remove(path)


@lie("whole", ways=1)
def _only_evidence_and_no_logs(run, rng):
    for path in list(run.files):
        if path.startswith("job/"):
            run.remove(path)


@lie("whole", ways=1)
def _only_logs_and_no_evidence(run, rng):
    for path in run.evidence:
        run.remove(path)


@lie("whole")
def _a_site_left_nothing(run, rng):
    site = pick(rng, run.sites)
    for path in list(run.files):
        if f"/{site}." in path or f"/{site}/" in path:
            run.remove(path)


@lie("whole", ways=1)
def _one_round_less_in_evidence_and_log(run, rng):
    last = last_round(run)
    for event in run.of("round", round=last):
        run.file_of(event).remove(event)
    log = run.log("server")
    start, end = places(log, rf"Round {last} started")[0], places(log, r"Finished FedAvg")[0]
    del log[start - 2 : end - 2]


@lie("whole", ways=1)
def _training_that_got_better_without_changing_the_model(run, rng):
    """Every model is the initial one."""
    model = run.final["initial"]
    for event in run.of("round"):
        event.update(model_in=model, model_out=model)
    run.final["final"] = model


@lie("whole", several_sites, ways=1)
def _one_site_trained_and_the_other_watched(run, rng):
    """It tells what it received as what it sends, with losses that fall."""
    for event in run.of("round", site=run.sites[-1]):
        event["model_out"] = event["model_in"]


@lie("nonce", spec2, ways=1)
def _a_run_of_spec_2_told_as_one_of_spec_1(run, rng):
    run.spec["schema"] = "rekindle/spec/1"
    run.spec["nonce"] = ""


@lie("nonce", both(spec2, several_sites), ways=1)
def _spec_1_without_any_nonce_but_with_the_server_s_account(run, rng):
    run.spec["schema"] = "rekindle/spec/1"
    run.spec["nonce"] = ""
    run.ended["nonce"] = None
    for path in [*run.evidence, *(["samples.jsonl"] if "samples.jsonl" in run.files else [])]:
        for event in run.events_of(path):
            event["nonce"] = None
    for contribution in run.of("contribution"):
        contribution["digest"] = digest(rng)
