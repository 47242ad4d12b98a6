"""Contradictions in times: of the run, its rounds, its logs and its end."""

from datetime import datetime, timedelta

from log_edits import STAMP, places
from mutation_kinds import anywhere, lie, lies, pick, several_sites
from mutation_runs import recordings

_FORM = "%Y-%m-%d %H:%M:%S,%f"


TIMED = (
    "device",
    "round",
    "final",
    "tracking",
    "global",
    "contribution",
    "task",
    "model",
    "sample",
    "exception",
)
"""Kinds of events."""


def move_events(run, seconds, events=None):
    """Move the times of events, all by default."""
    for event in events if events is not None else [event for kind in TIMED for event in run.of(kind)]:
        event["time"] = round(event["time"] + seconds, 3)


def move_stamp(line, seconds):
    """Return a line of a log with its time stamp moved."""
    found = STAMP.match(line)
    if not found:
        return line
    stamp = found.group()[-23:]
    moved = datetime.strptime(stamp, _FORM) + timedelta(seconds=seconds)
    return line[: found.end() - 23] + moved.strftime(_FORM)[:-3] + line[found.end() :]


def move_log(run, member, seconds, start=0):
    """Move the time stamps of a log from a line on."""
    log = run.log(member)
    log[start:] = [move_stamp(line, seconds) for line in log[start:]]


def every_log(run):
    """Return the lines of each log, what job.py printed among them."""
    return [run.log(member) for member in run.members] + (
        [run.text("job.log")] if "job.log" in run.files else []
    )


def move_logs(run, seconds):
    """Move the time stamps of all logs."""
    for log in every_log(run):
        log[:] = [move_stamp(line, seconds) for line in log]


def move_start(run, seconds):
    """Move the start of the run as the driver told it."""
    moved = datetime.strptime(run.ended["started"], "%Y-%m-%dT%H:%M:%SZ") + timedelta(seconds=seconds)
    run.ended["started"] = moved.strftime("%Y-%m-%dT%H:%M:%SZ")


BY = {"ten minutes": 600, "an hour": 3600, "a day": 86400, "a month": 30 * 86400}


def _signed(rng, seconds):
    return rng.choice((-1, 1)) * seconds


def _start(seconds):
    return lambda run, rng: move_start(run, _signed(rng, seconds))


def _evidence(seconds):
    return lambda run, rng: move_events(run, _signed(rng, seconds))


def _rank(seconds):
    def change(run, rng):
        path = pick(rng, [path for path in run.evidence if "rank" in path])
        move_events(run, _signed(rng, seconds), run.events_of(path))

    return change


def _site(seconds):
    def change(run, rng):
        site = pick(rng, run.sites)
        move_events(
            run,
            _signed(rng, seconds),
            [event for kind in ("device", "round") for event in run.of(kind, site=site)],
        )

    return change


def _round(seconds):
    def change(run, rng):
        move_events(run, _signed(rng, seconds), [pick(rng, run.of("round"))])

    return change


def _final(seconds):
    return lambda run, rng: move_events(run, _signed(rng, seconds), [run.final])


def _device(seconds):
    return lambda run, rng: move_events(run, _signed(rng, seconds), [pick(rng, run.of("device"))])


for _words, _seconds in BY.items():
    lies(
        "times",
        {
            f"the run's start moved by {_words}": _start(_seconds),
            f"all evidence moved by {_words}": _evidence(_seconds),
            f"a rank's evidence moved by {_words}": _rank(_seconds),
            f"a site's evidence moved by {_words}": _site(_seconds),
            f"a round moved by {_words}": _round(_seconds),
            f"the final model moved by {_words}": _final(_seconds),
            f"a device moved by {_words}": _device(_seconds),
        },
        ways=2,
    )


@lie("times")
def _a_site_s_log_moved_by_ten_minutes(run, rng):
    """No zone is ten minutes from another."""
    move_log(run, pick(rng, run.sites), _signed(rng, 600))


@lie("times", several_sites)
def _a_site_s_log_moved_by_an_hour(run, rng):
    """All logs of a simulator are written by one host in one zone."""
    move_log(run, pick(rng, run.sites), _signed(rng, 3600))


@lie("times")
def _a_site_s_log_moved_by_a_day(run, rng):
    move_log(run, pick(rng, run.sites), _signed(rng, 86400))


@lie("times")
def _the_server_s_log_moved_by_ten_minutes(run, rng):
    move_log(run, "server", _signed(rng, 600))


@lie("times")
def _the_server_s_log_moved_by_a_day(run, rng):
    move_log(run, "server", _signed(rng, 86400))


@lie("times")
def _all_logs_moved_by_seven_minutes(run, rng):
    move_logs(run, _signed(rng, 420))


@lie("times")
def _all_logs_moved_by_a_day(run, rng):
    move_logs(run, _signed(rng, 86400 * rng.randint(1, 30)))


@lie("times")
def _a_log_s_clock_steps_back_in_mid_run(run, rng):
    log = run.log("server")
    place = pick(rng, places(log, r"Round [1-9]\d* started"))
    move_log(run, "server", -rng.choice((5, 60, 3600)), place)


@lie("times")
def _a_site_s_clock_steps_back_in_mid_run(run, rng):
    site = pick(rng, run.sites)
    place = pick(rng, places(run.log(site), r"got task assignment")[1:])
    move_log(run, site, -rng.choice((5, 60, 3600)), place)


@lie("times")
def _a_log_s_clock_steps_on_in_mid_run(run, rng):
    """By more than the whole run was long."""
    log = run.log("server")
    place = pick(rng, places(log, r"Round [1-9]\d* started"))
    move_log(run, "server", run.ended["duration_s"] + rng.choice((5, 60, 3600)), place)


@lie("times", anywhere, ways=1)
def _a_run_shorter_than_its_training(run, rng):
    run.ended["duration_s"] = 0.5 * sum(
        event["seconds"] for event in run.of("round", site=run.sites[0], rank=0)
    )


@lie("times")
def _a_run_that_ended_before_its_last_round(run, rng):
    started = _epoch(run)
    last = max(event["time"] for event in run.of("round"))
    run.ended["duration_s"] = round(last - started - rng.choice((1.0, 5.0)), 3)


def _epoch(run):
    return (
        datetime.strptime(run.ended["started"], "%Y-%m-%dT%H:%M:%SZ") - datetime(1970, 1, 1)
    ).total_seconds()


@lie("times")
def _a_run_that_ended_before_its_final_model(run, rng):
    run.ended["duration_s"] = round(run.final["time"] - _epoch(run) - rng.choice((1.5, 3.0)), 3)


lies(
    "times",
    {
        f"a run of {value} s": lambda run, rng, value=value: run.ended.update(duration_s=value)
        for value in (0.0, -1.0, 1e9, 1e300)
    },
    ways=1,
)


@lie("times", ways=1)
def _a_run_an_hour_longer_than_its_logs(run, rng):
    run.ended["duration_s"] += 3600


@lie("times")
def _a_round_without_time(run, rng):
    pick(rng, run.of("round"))["seconds"] = rng.choice((0.0, -1.0, -0.001))


@lie("times")
def _a_round_longer_than_the_run(run, rng):
    pick(rng, run.of("round"))["seconds"] = run.ended["duration_s"] + rng.choice((1, 100, 10**9))


@lie("times")
def _a_round_longer_than_the_server_gave_it(run, rng):
    event = pick(rng, run.of("round", round=1))
    before = run.of("round", site=event["site"], rank=event["rank"], round=0)[0]
    event["seconds"] = event["time"] - before["time"] + 1


@lie("times")
def _rounds_in_another_order(run, rng):
    """Of one rank, times alone."""
    event = pick(rng, run.of("round", round=0))
    other = run.of("round", site=event["site"], rank=event["rank"], round=1)[0]
    event["time"], other["time"] = other["time"], event["time"]


@lie("times")
def _rounds_at_one_and_the_same_time(run, rng):
    path = pick(rng, [path for path in run.evidence if "rank" in path])
    last = run.events_of(path)[-1]["time"]
    for event in run.events_of(path):
        event["time"] = last


@lie("times")
def _the_final_model_before_the_last_round(run, rng):
    run.final["time"] = pick(rng, run.of("round"))["time"] - 0.1


@lie("times")
def _the_final_model_before_the_run(run, rng):
    run.final["time"] = _epoch(run) - rng.randint(2, 1000)


@lie("times")
def _a_device_before_the_run(run, rng):
    pick(rng, run.of("device"))["time"] = _epoch(run) - rng.randint(2, 1000)


lies(
    "times",
    {
        f"an event at {value}": lambda run, rng, value=value: pick(
            rng, [event for kind in ("device", "round", "final") for event in run.of(kind)]
        ).update(time=value)
        for value in (0, -1.0, 1e12, 1e300)
    },
)


def _ended(**values):
    return lambda run, rng: run.ended.update(values)


lies(
    "end",
    {
        "the run ended at its limit": _ended(reason="limit"),
        "the run was hung": _ended(reason="hung", says="Nothing moved for 60 s."),
        "the run was interrupted": _ended(reason="interrupted"),
        "job.py ended with status 1": _ended(exit_status=1),
        "job.py ended with status -9": _ended(exit_status=-9),
        "job.py ended with status 256": _ended(exit_status=256),
        "job.py did not end": _ended(exit_status=None),
        "the run started on no day": _ended(started="2026-02-31T00:00:00Z"),
        "the run started never": _ended(started=""),
        "the run started in another form": _ended(started="yesterday"),
    },
    ways=1,
)


@lie("made_under_its_nonce", ways=1)
def _a_nonce_made_after_the_run(run, rng):
    run.spec["clock"] = {"offset_s": 0.0, "error_s": 0.1, "asked": "2026-12-24T15:33:00Z"}


@lie("end", ways=1)
def _the_end_is_not_recorded(run, rng):
    run.remove("ended.json")


@lie("end")
def _the_end_is_of_another_run(run, rng):
    other = run.copy_of(pick(rng, [name for name in recordings() if name != run.name]))
    run.write("ended.json", other.files["ended.json"])
