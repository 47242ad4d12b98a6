"""Contradictions in the files and lines of evidence: doubled, foreign, broken, misplaced, exceptions."""

import json

from lies_of_ranks import others
from mutation_kinds import claims, lie, on_gpus, pick, spec2
from mutation_runs import clone, recordings


@lie("second events")
def _a_rank_told_two_devices(run, rng):
    device = pick(rng, run.of("device"))
    other = {**device, "time": device["time"] + 0.001, "pid": device["pid"] + 1}
    if device["uuid"]:
        other.update(uuid="GPU-00000000-dead-beef-0000-000000000000")
    events = run.file_of(device)
    events.insert(rng.choice((0, 1, len(events))), other)


@lie("second events")
def _a_rank_told_its_device_twice_with_another_pid(run, rng):
    """It was started again in mid-run."""
    device = pick(rng, run.of("device"))
    run.file_of(device).append({**device, "time": device["time"] + 0.5, "pid": device["pid"] + 1})


@lie("second events")
def _a_round_told_twice_with_other_models(run, rng):
    line = pick(rng, run.of("round"))
    events = run.file_of(line)
    other = {**line, "model_out": f"{rng.getrandbits(256):064x}", "time": line["time"] + 0.001}
    events.insert(next(at for at, event in enumerate(events) if event is line) + rng.randint(0, 1), other)


@lie("second events")
def _a_round_told_twice_with_other_losses(run, rng):
    event = pick(rng, run.of("round"))
    run.file_of(event).append({**event, "losses": [loss * 0.5 for loss in event["losses"]]})


@lie("second events")
def _a_round_told_twice(run, rng):
    event = pick(rng, run.of("round"))
    run.file_of(event).append(clone(event))


@lie("second events")
def _the_file_of_a_rank_holds_everything_twice(run, rng):
    events = run.events_of(pick(rng, [path for path in run.evidence if "rank" in path]))
    events += clone(events)


@lie("second events")
def _a_final_model_told_twice(run, rng):
    """The second one is another, or better."""
    other = {**clone(run.final), "time": run.final["time"] + 0.1}
    how = rng.randrange(3)
    if how == 0:
        other["final"] = f"{rng.getrandbits(256):064x}"
    elif how == 1:
        other["distance"] = run.final["distance"] * 2
    else:
        other["metrics"] = {name: value * 0.5 for name, value in run.final["metrics"].items()}
    run.file_of(run.final).insert(rng.choice((0, len(run.file_of(run.final)))), other)


@lie("second events", claims("tracking_read_back"))
def _a_tracker_told_twice(run, rng):
    event = pick(rng, run.of("tracking"))
    run.file_of(event).append(
        {**event, "scalars": [[*scalar[:3], scalar[3] * 2] for scalar in event["scalars"]]}
    )


@lie("exceptions")
def _an_exception_of_a_rank(run, rng):
    """All else went well, as when it was raised after the last round."""
    site = pick(rng, run.sites)
    path = f"evidence/{site}.rank-{rng.randrange(run.ranks(site))}.jsonl"
    run.events_of(path).append(_exception(run, run.events_of(path)[-1], rng))


def _exception(run, after, rng):
    return {
        "event": "exception",
        "time": after["time"] + rng.choice((-0.5, 0.01, 0.3)),
        **({"nonce": after["nonce"]} if "nonce" in after else {}),
        "site": after["site"],
        "rank": after["rank"],
        "kind": rng.choice(("RuntimeError", "KeyboardInterrupt", "torch.OutOfMemoryError")),
        "message": rng.choice(("CUDA error: an illegal memory access was encountered", "boom", "")),
        "place": "client.py:90 in main",
    }


@lie("exceptions", ways=1)
def _an_exception_of_every_rank_after_the_last_round(run, rng):
    for path in run.evidence:
        events = run.events_of(path)
        if events[-1]["event"] == "round":
            events.append(_exception(run, events[-1], rng))


@lie("exceptions")
def _an_exception_of_a_rank_in_the_file_of_another(run, rng):
    site = pick(rng, run.sites)
    events = run.events_of(f"evidence/{site}.rank-0.jsonl")
    path = others(rng, run.evidence, f"evidence/{site}.rank-0.jsonl")
    run.events_of(path).insert(0, _exception(run, events[-1], rng))


@lie("exceptions")
def _an_exception_in_a_file_of_its_own(run, rng):
    last = run.of("round")[-1]
    run.add_events(
        f"evidence/{rng.choice(('zz', 'errors', 'site-1.rank-7'))}.jsonl", [_exception(run, last, rng)]
    )


@lie("files")
def _files_of_two_ranks_swapped(run, rng):
    path, other = rng.sample([path for path in run.evidence if "rank" in path], 2)
    first, then = clone(run.events_of(path)), clone(run.events_of(other))
    run.events_of(path)[:], run.events_of(other)[:] = then, first


@lie("files")
def _a_rank_s_lines_in_the_file_of_another(run, rng):
    path, other = rng.sample([path for path in run.evidence if "rank" in path], 2)
    run.events_of(other).extend(clone(run.events_of(path)))
    run.remove(path)


@lie("files")
def _one_line_in_the_file_of_another(run, rng):
    path, other = rng.sample([path for path in run.evidence if "rank" in path], 2)
    run.events_of(other).append(run.events_of(path).pop(rng.randrange(len(run.events_of(path)))))


@lie("files")
def _a_rank_s_file_with_another_name(run, rng):
    path = pick(rng, [path for path in run.evidence if "rank" in path])
    run.rename(path, path.replace("rank-", rng.choice(("rank-1", "rank-x", "was-rank-"))))


@lie("files", ways=1)
def _all_evidence_in_one_file(run, rng):
    every = [event for path in run.evidence for event in clone(run.events_of(path))]
    for path in run.evidence:
        run.remove(path)
    run.add_events("evidence/job.jsonl", every)


@lie("files")
def _the_final_model_in_the_file_of_a_rank(run, rng):
    """The trainer says what came of the run."""
    final = run.final
    run.file_of(final).remove(final)
    run.events_of(pick(rng, [path for path in run.evidence if "rank" in path])).append(final)


@lie("files")
def _a_device_in_the_file_of_the_job(run, rng):
    device = pick(rng, run.of("device"))
    run.file_of(device).remove(device)
    run.events_of("evidence/job.jsonl").append(device)


@lie("files", on_gpus)
def _samples_in_evidence_of_a_trainer(run, rng):
    """The driver's part is told by the job."""
    events = run.events_of("samples.jsonl")
    run.add_events("evidence/samples.jsonl", clone(events))
    run.remove("samples.jsonl")


@lie("files")
def _evidence_of_a_rank_is_gone(run, rng):
    run.remove(pick(rng, [path for path in run.evidence if "rank" in path]))


@lie("files", ways=1)
def _evidence_is_empty(run, rng):
    for path in run.evidence:
        run.events_of(path).clear()


@lie("ranks")
def _a_rank_that_the_run_does_not_have(run, rng):
    site = pick(rng, run.sites)
    rank, count = run.ranks(site), run.ranks(site)
    events = clone(run.events_of(f"evidence/{site}.rank-{count - 1}.jsonl"))
    for event in events:
        event["rank"] = rank
        if event["event"] == "device":
            event["pid"] += 77_000
    run.add_events(f"evidence/{site}.rank-{rank}.jsonl", events)


@lie("ranks")
def _a_site_that_the_run_does_not_have(run, rng):
    site = pick(rng, run.sites)
    for rank in range(run.ranks(site)):
        events = clone(run.events_of(f"evidence/{site}.rank-{rank}.jsonl"))
        for event in events:
            event["site"] = "site-3"
            if event["event"] == "device":
                event["pid"] += 77_000
        run.add_events(f"evidence/site-3.rank-{rank}.jsonl", events)


@lie("ranks")
def _a_line_of_a_site_that_the_run_does_not_have(run, rng):
    event = pick(rng, run.of("round"))
    run.file_of(event).append({**event, "site": rng.choice(("site-3", "server", "", "site-1 "))})


@lie("ranks")
def _a_line_of_a_rank_that_the_run_does_not_have(run, rng):
    event = pick(rng, run.of("round"))
    run.file_of(event).append({**event, "rank": rng.choice((-1, 17))})


@lie("lines")
def _an_unknown_event(run, rng):
    event = pick(rng, run.of("round"))
    events = run.file_of(event)
    other = {**event, "event": rng.choice(("retry", "aborted", "restart", "Round"))}
    events.insert(rng.randint(0, len(events)), other)


@lie("lines")
def _an_event_with_an_unknown_field(run, rng):
    pick(rng, run.of("round"))["event"] = "round "


@lie("lines")
def _garbage_among_the_lines(run, rng):
    """In mid-file; a last line may have been cut off as the driver ended what was left."""
    events = run.events_of(pick(rng, run.evidence))
    events.insert(
        rng.randrange(len(events)),
        rng.choice(("\x00\x00\x00", "{", "not json", json.dumps(events[0])[:-9], '{"event": "round"}', "[]")),
    )


@lie("lines")
def _a_line_cut_in_its_middle(run, rng):
    path = pick(rng, run.evidence)
    events = run.events_of(path)
    place = rng.randrange(len(events))
    text = json.dumps(events[place])
    events[place] = text[: len(text) // 2]


@lie("lines")
def _a_file_cut_in_its_middle(run, rng):
    path = pick(rng, run.evidence)
    content = run.files[path]
    run.write(path, content[: rng.randint(len(content) // 4, len(content) * 3 // 4)])


@lie("lines", ways=4)
def _a_line_of_another_run(run, rng):
    """In place of one of this run: same job, site, rank and round."""
    other = _other_run(run, rng)
    line = pick(rng, run.of(pick(rng, ("round", "device"))))
    same = {name: line[name] for name in ("site", "rank", "round") if name in line}
    theirs = other.of(line["event"], **same)
    events = run.file_of(line)
    events[next(at for at, event in enumerate(events) if event is line)] = clone(pick(rng, theirs))


@lie("lines")
def _the_file_of_a_rank_of_another_run(run, rng):
    other = _other_run(run, rng)
    path = pick(rng, [path for path in run.evidence if "rank" in path and path in other.files])
    run.write(path, other.files[path])


@lie("lines")
def _the_final_model_of_another_run(run, rng):
    other = _other_run(run, rng)
    run.write("evidence/job.jsonl", other.files["evidence/job.jsonl"])


@lie("lines", spec2)
def _the_final_model_of_another_run_at_this_run_s_time(run, rng):
    other = _other_run(run, rng)
    final = run.final
    nonce = {"nonce": final["nonce"]} if "nonce" in final else {}
    final.update({**clone(other.final), "time": final["time"], **nonce})


def _other_run(run, rng):
    """Return another recorded run of the same job, or of any other."""
    job = run.spec["job"]["name"]
    others = [name for name in recordings() if name != run.name]
    same = [name for name in others if name.startswith(job)]
    return run.copy_of(pick(rng, same or others))


@lie("files_are_as_sent", ways=1)
def _a_client_that_was_exchanged_on_the_host(run, rng):
    run.spec["files"] = {"client.py": f"{rng.getrandbits(256):064x}"}
    run.write("job/client.py", b"cheat()\n")
