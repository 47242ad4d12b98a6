"""Changes after which all that a run tells is as true as before."""

import itertools
import json
import re
from datetime import datetime

from lies_in_times import TIMED, every_log, move_events, move_logs, move_stamp, move_start
from log_edits import STAMP
from mutation_kinds import benign, of_ours, on_gpus, pick
from mutation_runs import clone


@benign("samples", on_gpus, ways=1)
def _samples_in_another_order(run, rng):
    rng.shuffle(run.events_of("samples.jsonl"))


@benign("samples", on_gpus, ways=1)
def _more_samples(run, rng):
    """Each again, halfway to the next one."""
    samples = run.events_of("samples.jsonl")
    more = []
    for sample, then in itertools.pairwise(samples):
        more += [sample, {**clone(sample), "time": round((sample["time"] + then["time"]) / 2, 3)}]
    samples[:] = [*more, samples[-1]]


@benign("samples", on_gpus, ways=1)
def _more_memory_in_use(run, rng):
    for sample in run.of("sample"):
        for gpu in sample["gpus"].values():
            gpu["used_mib"] += 700
            gpu["processes"] = {pid: mib + 100 for pid, mib in gpu["processes"].items()}
        sample["memory_mib"] = {name: mib * 2 for name, mib in sample.get("memory_mib", {}).items()}


@benign("samples", on_gpus, ways=1)
def _no_samples_before_the_first_trainer(run, rng):
    first = min(device["time"] for device in run.of("device"))
    run.events_of("samples.jsonl")[:] = [sample for sample in run.of("sample") if sample["time"] >= first]


@benign("samples", on_gpus)
def _a_last_sample_cut_off(run, rng):
    content = run.files["samples.jsonl"]
    last = content.splitlines()[-1]
    run.write("samples.jsonl", content + last[: rng.randint(5, len(last) - 5)])


@benign("zones", ways=4)
def _another_zone_of_the_host(run, rng):
    """Its logs are in local time, evidence is not."""
    move_logs(run, 900 * rng.randint(-48, 56))


@benign("times", ways=2)
def _all_on_another_day(run, rng):
    seconds = 86400 * rng.choice((-400, -1, 1, 30)) + rng.randint(0, 5000)
    move_events(run, seconds)
    move_start(run, seconds)
    move_logs(run, seconds)


def _stretched(factor):
    """Return what makes all durations longer, from the start on."""

    def change(run, rng):
        began = _epoch(run.ended["started"])
        for kind in TIMED:
            for event in run.of(kind):
                event["time"] = began + (event["time"] - began) * factor
                if kind == "round":
                    event["seconds"] *= factor
        for log in every_log(run):
            zone = _zone(run, began)
            log[:] = [_stretch(line, began + zone, factor) for line in log]
        run.ended["duration_s"] *= factor

    return change


def _zone(run, began):
    first = next(line for line in run.copy_of(run.name).log("server") if STAMP.match(line))
    return round((_epoch(STAMP.match(first).group().replace(" ", "T")[:19] + "Z") - began) / 900) * 900


def _epoch(stamp):
    return (datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ") - datetime(1970, 1, 1)).total_seconds()


def _stretch(line, began, factor):
    found = STAMP.match(line)
    if not found:
        return line
    now = (
        datetime.strptime(found.group()[-23:], "%Y-%m-%d %H:%M:%S,%f") - datetime(1970, 1, 1)
    ).total_seconds()
    return move_stamp(line, (now - began) * (factor - 1))


@benign("slower hosts", ways=1)
def _a_host_three_times_as_slow(run, rng):
    _stretched(3)(run, rng)


@benign("slower hosts", ways=1)
def _a_host_a_half_slower(run, rng):
    _stretched(1.5)(run, rng)


@benign("slower hosts", ways=1)
def _a_host_two_thirds_as_slow(run, rng):
    _stretched(0.67)(run, rng)


@benign("names", ways=1)
def _another_host_user_and_folder(run, rng):
    """Of what tells nothing of the run."""
    run.spec.update(host="another", python="/opt/x/bin/python", tmpdir="/var/x", cache="/var/cache/x")
    for log in every_log(run):
        log[:] = [
            re.sub(r"/(home/u|tmp)/rekindle", "/srv/x", re.sub(r"192\.0\.2\.\d+", "198.51.100.7", line))
            for line in log
        ]


@benign("names", ways=1)
def _other_pids(run, rng):
    """Renamed everywhere."""
    pids = sorted({str(device["pid"]) for device in run.of("device")})
    new = {pid: str(int(pid) + 40_000) for pid in pids}
    for device in run.of("device"):
        device["pid"] = int(new[str(device["pid"])])
    for sample in run.of("sample"):
        for gpu in sample["gpus"].values():
            for name in ("processes", "process_utilisation"):
                if gpu.get(name):
                    gpu[name] = {new.get(pid, pid): value for pid, value in gpu[name].items()}
    for log in every_log(run):
        for pid, other in new.items():
            log[:] = [re.sub(rf"\b{pid}\b", other, line) for line in log]


@benign("names", on_gpus, ways=1)
def _other_gpus(run, rng):
    """Renamed everywhere."""
    new = {
        uuid: f"GPU-{rng.getrandbits(32):08x}-0000-4000-8000-{rng.getrandbits(48):012x}" for uuid in run.gpus
    }
    for path, content in list(run.files.items()):
        text = content
        for uuid, other in new.items():
            text = text.replace(uuid.encode(), other.encode())
        if text != content:
            run.write(path, text)


@benign("names", ways=1)
def _other_task_ids(run, rng):
    ids = sorted(
        {
            found
            for log in every_log(run)
            for line in log
            for found in re.findall(
                r"(?<![0-9a-f-])[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", line
            )
        }
    )
    new = {task_id: f"{rng.getrandbits(32):08x}{task_id[8:]}" for task_id in ids}
    pattern = re.compile("|".join(ids))
    for log in every_log(run):
        log[:] = [pattern.sub(lambda found: new[found.group()], line) for line in log]


@benign("names", of_ours, ways=1)
def _models_under_other_digests(run, rng):
    """Renamed everywhere, as by another seed."""
    new = {}
    for path in run.evidence:
        text = run.files[path].decode()
        for found in re.findall(r'"([0-9a-f]{64})"', text):
            new.setdefault(found, f"{rng.getrandbits(256):064x}")
        for digest, other in new.items():
            text = text.replace(digest, other)
        run.write(path, text.encode())


@benign("files", ways=1)
def _files_of_others(run, rng):
    run.files |= {
        "notes.txt": b"all is well\n",
        "job/tb_events/events.out.tfevents.1": b"\0\1\2",
        "evidence/.site-1.swp": b"b0VIM",
        "evidence/README.md": b"# none\n",
        "job/workspace/pt_ddp.txt": b"",
        "ladder.txt": b"",
    }


def _judged_there(run):
    return "verdict.json" in run.files


@benign("files", _judged_there, ways=1)
def _a_verdict_of_the_host_that_says_fail(run, rng):
    run.record("verdict.json").update(verdict="FAIL", cause="It was not well.", required=False)


@benign("files", _judged_there, ways=1)
def _no_verdict_of_the_host(run, rng):
    run.remove("verdict.json")


@benign("spelling", ways=2)
def _keys_in_another_order(run, rng):
    for path in run.evidence + ["samples.jsonl"] * bool(run.gpus):
        lines = []
        for event in run.events_of(path):
            items = list(event.items())
            rng.shuffle(items)
            lines.append(json.dumps(dict(items)))
        run.write(path, ("\n".join(lines) + "\n").encode())
    for path in ("spec.json", "ended.json"):
        run.write(path, json.dumps(dict(reversed(run.record(path).items()))).encode())


@benign("spelling", ways=1)
def _lines_that_end_as_on_windows(run, rng):
    """JSON takes a carriage return for space."""
    for path in run.evidence:
        run.write(path, run.files[path].replace(b"\n", b"\r\n"))


@benign("spelling", ways=1)
def _no_newline_at_the_end(run, rng):
    for path in run.evidence:
        run.write(path, run.files[path].rstrip(b"\n"))


@benign("figures")
def _a_model_that_is_a_little_better(run, rng):
    """By less than what ranks tell at most of a sample."""
    for name, value in run.final["metrics"].items():
        run.final["metrics"][name] = value * (1.001 if name == "accuracy" else 0.999)


@benign("figures")
def _a_model_that_lies_a_little_further(run, rng):
    run.final["distance"] *= 1.0001


@benign("figures", ways=1)
def _all_losses_a_little_lower(run, rng):
    for event in run.of("round"):
        event["losses"] = [loss * 0.99999 for loss in event["losses"]]
    for event in run.of("tracking"):
        for scalar in event["scalars"]:
            scalar[3] *= 0.99999 if scalar[1] == "loss" else 1


@benign("times")
def _device_told_a_little_earlier(run, rng):
    pick(rng, run.of("device"))["time"] -= 0.2


@benign("times")
def _a_round_a_little_shorter(run, rng):
    pick(rng, run.of("round"))["seconds"] *= 0.9


@benign("times", ways=1)
def _a_run_that_took_a_second_longer_to_end(run, rng):
    run.ended["duration_s"] += 1.0
