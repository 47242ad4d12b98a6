"""Contradictions in the logs of server, sites and job."""

import re

from mutation_kinds import claims, lie, lies, pick, several_sites
from mutation_runs import recordings

STAMP = re.compile(r"(?:\x1b\[[\d;]*m)?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}")


def places(log, pattern):
    """Return the places of the lines of a log that match."""
    return [place for place, line in enumerate(log) if re.search(pattern, line)]


def _drop(pattern, member="server", every=False):
    """Return what takes a line away, or all that match."""

    def change(run, rng):
        log = run.log(pick(rng, run.sites) if member == "site" else member)
        found = places(log, pattern)
        for place in sorted(found if every else [pick(rng, found)], reverse=True):
            del log[place]

    return change


def _double(pattern, member="server"):
    def change(run, rng):
        log = run.log(pick(rng, run.sites) if member == "site" else member)
        place = pick(rng, places(log, pattern))
        log.insert(place, log[place])

    return change


def _swap(pattern, other, member="server"):
    """Return what swaps a line with the next one of another kind, time stamps in place."""

    def change(run, rng):
        log = run.log(pick(rng, run.sites) if member == "site" else member)
        pairs = [
            (first, then)
            for first in places(log, pattern)
            for then in [min((place for place in places(log, other) if place > first), default=None)]
            if then is not None
        ]
        first, then = pick(rng, pairs)
        a, b = log[first], log[then]
        log[first] = _stamp(a) + b[len(_stamp(b)) :]
        log[then] = _stamp(b) + a[len(_stamp(a)) :]

    return change


def _stamp(line):
    found = STAMP.match(line)
    return found.group() if found else ""


def _replace(pattern, new, member="server", every=False):
    def change(run, rng):
        log = run.log(pick(rng, run.sites) if member == "site" else member)
        found = places(log, pattern)
        for place in found if every else [pick(rng, found)]:
            log[place] = re.sub(pattern, new, log[place])

    return change


AGGREGATED = r"Aggregated 2/2 results"
RESULT = r"got result from client site-\d"
STARTED = r"Round \d+ started"

lies(
    "server's log",
    {
        "the server missed an aggregation": _drop(AGGREGATED),
        "the server missed all aggregations": _drop(AGGREGATED, every=True),
        "the server missed the first of two contributions": _drop(r"Aggregated 1/2 results"),
        "the server missed a site's result": _drop(RESULT),
        "the server missed a start of a round": _drop(STARTED),
        "the server never sampled clients": _drop(r"Sampled clients", every=True),
        "the server never sent a task": _drop(r"assigned task to client", every=True),
        "the server did not assign a site its task": _drop(r"assigned task to client"),
        "the server did not persist a model": _drop(r"End persist model"),
        "the server never finished": _drop(r"Server runner finished", every=True),
        "the server never finished FedAvg": _drop(r"Finished FedAvg", every=True),
        "the server never started FedAvg": _drop(r"Start FedAvg", every=True),
        "the server aggregated twice in a round": _double(AGGREGATED),
        "the server had a result twice": _double(RESULT),
        "the server started a round twice": _double(STARTED),
        "the server finished twice": _double(r"Finished FedAvg"),
        "the server aggregated before a contribution": _swap(
            r"got result from client", r"Aggregated \d/2 results"
        ),
        "the server aggregated 2 before 1": _swap(r"Aggregated 1/2", r"Aggregated 2/2"),
        "the server started a round before it aggregated": _swap(AGGREGATED, STARTED),
        "the server finished before it aggregated": _swap(AGGREGATED, r"Finished FedAvg"),
        "the server had results before the round started": _swap(STARTED, RESULT),
        "the server had a result before it sent the task": _swap(
            r"assigned task to client site-1", r"got result from client site-1"
        ),
        "the server persisted before it aggregated": _swap(AGGREGATED, r"End persist model"),
        "the server aggregated one of two": _replace(r"Aggregated 2/2", "Aggregated 1/2"),
        "the server aggregated one of one": _replace(r"Aggregated 2/2", "Aggregated 1/1"),
        "the server aggregated three of three": _replace(r"Aggregated 2/2", "Aggregated 3/3"),
        "the server aggregated zero of two": _replace(r"Aggregated 1/2", "Aggregated 0/2"),
        "the server sampled one client": _replace(r"Sampled clients: \[.*\]", "Sampled clients: ['site-1']"),
        "the server sampled strangers": _replace(
            r"Sampled clients: \[.*\]", "Sampled clients: ['site-8', 'site-9']"
        ),
        "both results are of one site": _replace(
            r"got result from client site-\d", "got result from client site-1", every=True
        ),
        "a result is of a stranger": _replace(
            r"got result from client site-\d", "got result from client site-9"
        ),
        "a round has another number": _replace(r"Round \d+ started", "Round 7 started"),
        "all rounds have one number": _replace(r"Round \d+ started", "Round 0 started", every=True),
        "a peer_rc is EXECUTION_EXCEPTION": _replace(r"peer_rc=OK", "peer_rc=EXECUTION_EXCEPTION"),
        "a peer_rc is EMPTY_RESULT": _replace(r"peer_rc=OK", "peer_rc=EMPTY_RESULT"),
        "every peer_rc is TASK_ABORTED": _replace(r"peer_rc=OK", "peer_rc=TASK_ABORTED", every=True),
        "a task exits with TIMEOUT": _replace(r"TaskCompletionStatus\.OK", "TaskCompletionStatus.TIMEOUT"),
        "a task exits with CANCELLED": _replace(
            r"TaskCompletionStatus\.OK", "TaskCompletionStatus.CANCELLED"
        ),
        "a task exits with ABORTED": _replace(r"TaskCompletionStatus\.OK", "TaskCompletionStatus.ABORTED"),
        "a result of another task": _replace(
            r"(got result from client .* id=)[0-9a-f-]+", r"\g<1>00000000-0000-4000-8000-000000000000"
        ),
    },
    where=several_sites,
)


def _error(text, level="ERROR"):
    """Return what logs a line somewhere between others, in the name of the one before it."""

    def change(member):
        def only(run, rng):
            log = run.log(pick(rng, run.sites) if member == "site" else member)
            place = pick(rng, [place for place in places(log, STAMP.pattern) if place > 5])
            log.insert(place, f"{_stamp(log[place])} - {text.format(level=level)}")

        return only

    return change


ERRORS = {
    "an error": _error("PTInProcessClientAPIExecutor - {level} - Result from the trainer is bad"),
    "a critical error": _error("ServerRunner - {level} - cannot go on", "CRITICAL"),
    "an exception": _error("ServerRunner - {level} - Exception in thread: RuntimeError: boom"),
    "a traceback": _error("SubprocessLauncher - {level} - Traceback (most recent call last):", "INFO"),
    "a RuntimeError of a trainer": _error(
        "SubprocessLauncher - {level} - RuntimeError: CUDA error: device-side assert triggered", "INFO"
    ),
    "an error of NCCL": _error(
        "SubprocessLauncher - {level} - [rank0]: NCCL error: unhandled system error", "INFO"
    ),
    "out of memory": _error(
        "SubprocessLauncher - {level} - torch.OutOfMemoryError: CUDA out of memory.", "INFO"
    ),
    "a segmentation fault": _error("SubprocessLauncher - {level} - Segmentation fault (core dumped)", "INFO"),
    "a child that failed": _error(
        "SubprocessLauncher - {level} - torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        "INFO",
    ),
    "a trainer's exit code": _error("SubprocessLauncher - {level} - exitcode  : 1 (pid: 4711)", "INFO"),
}
lies(
    "errors in logs",
    {
        f"{name} in the server's log": error("server")
        for name, error in ERRORS.items()
        if "trainer" not in name
    },
)
lies("errors in logs", {f"{name} in a site's log": error("site") for name, error in ERRORS.items()})


@lie("errors in logs")
def _an_error_log_with_a_line(run, rng):
    member = pick(rng, run.members)
    run.write(
        f"{run.workspace}/{member}/log_error.txt",
        b"2026-11-21 02:30:02,634 - ServerRunner - ERROR - it did not work\n",
    )


@lie("errors in logs")
def _an_error_log_of_a_site_with_a_line(run, rng):
    site = pick(rng, run.sites)
    run.write(
        f"{run.workspace}/{site}/log_error.txt", b"2026-11-21 02:30:02,634 - X - ERROR - it did not work\n"
    )


@lie("errors in logs")
def _an_error_log_is_gone(run, rng):
    run.remove(f"{run.workspace}/server/log_error.txt")


def _printed(*texts):
    """Return what prints a text somewhere, after the first lines."""

    def change(run, rng):
        log = run.text("job.log") if "job.log" in run.files else ["starting", "done", ""]
        log.insert(rng.randint(1, len(log) - 1), pick(rng, texts))
        run.write("job.log", "\n".join(log).encode())

    return change


lies(
    "errors in logs",
    {
        "a traceback in job.log": _printed(
            'Traceback (most recent call last):\n  File "job.py", line 9, in main\nRuntimeError: boom',
            'Traceback (most recent call last):\n  File "x.py", line 1\nImportError: No module named x',
        ),
        "an error in job.log": _printed(
            "2026-11-21 02:30:02,634 - SimulatorRunner - ERROR - Simulator ends with exit status 1",
            "2026-11-21 02:30:02,634 - ServerRunner - CRITICAL - cannot go on",
        ),
        "a killed process in job.log": _printed(
            "Killed", "Segmentation fault (core dumped)", "Fatal Python error: Aborted"
        ),
        "a run given up in job.log": _printed("Aborting current RUN due to FATAL_SYSTEM_ERROR received"),
    },
)


@lie("server gave up")
def _the_server_gave_the_run_up(run, rng):
    log = run.log("server")
    place = pick(rng, places(log, AGGREGATED))
    log.insert(
        place + 1,
        f"{_stamp(log[place])} - ServerRunner - INFO - Aborting current RUN due to FATAL_SYSTEM_ERROR",
    )


@lie("server gave up")
def _the_server_was_asked_to_abort_before_its_end(run, rng):
    """At the end of every run it asks itself, after FedAvg has finished."""
    log = run.log("server")
    place = pick(rng, [place for place in places(log, STARTED) if STAMP.match(log[place + 3])])
    log.insert(
        place + 3,
        f"{_stamp(log[place + 3])} - ServerRunner - INFO - asked to abort - triggered abort_signal",
    )


def _cut(member, part):
    """Return what leaves only a part of a log: a function of its length."""

    def change(run, rng):
        path = f"{run.workspace}/{pick(rng, run.sites) if member == 'site' else member}/log.txt"
        content = run.files[path]
        start, end = part(len(content), rng)
        run.write(path, content[start:end])

    return change


def _gap(member):
    def change(run, rng):
        log = run.log(pick(rng, run.sites) if member == "site" else member)
        start = pick(rng, places(log, r"assigned task to client|got task assignment"))
        del log[start : start + max(12, len(log) // 4)]

    return change


for _who, _member in {"the server's": "server", "a site's": "site"}.items():
    lies(
        "logs whole",
        {
            f"{_who} log lacks its first half": _cut(_member, lambda size, rng: (size // 2, size)),
            f"{_who} log lacks its first lines": _cut(
                _member, lambda size, rng: (rng.randint(300, 2000), size)
            ),
            f"{_who} log lacks its second half": _cut(_member, lambda size, rng: (0, size // 2)),
            f"{_who} log lacks its last tenth": _cut(_member, lambda size, rng: (0, size * 9 // 10)),
            f"{_who} log lacks its last lines": _cut(
                _member, lambda size, rng: (0, size - rng.randint(900, 2500))
            ),
            f"{_who} log lacks its middle": _gap(_member),
            f"{_who} log is empty": _cut(_member, lambda size, rng: (0, 0)),
        },
    )


@lie("logs whole")
def _a_log_is_gone(run, rng):
    run.remove(f"{run.workspace}/{pick(rng, run.members)}/log.txt")


@lie("logs whole")
def _zeros_in_a_log(run, rng):
    """As a host leaves that lost its power."""
    path = f"{run.workspace}/{pick(rng, run.members)}/log.txt"
    content = run.files[path]
    at = rng.randint(len(content) // 4, len(content) // 2)
    size = rng.choice((512, 4096))
    run.write(path, content[:at] + b"\0" * size + content[at + size :])


@lie("logs of their member", several_sites)
def _logs_of_two_sites_swapped(run, rng):
    path, other = (f"{run.workspace}/{site}/log.txt" for site in rng.sample(run.sites, 2))
    first, then = run.files[path], run.files[other]
    run.write(path, then)
    run.write(other, first)


@lie("logs of their member", several_sites)
def _a_site_has_the_log_of_another(run, rng):
    site, other = rng.sample(run.sites, 2)
    run.write(f"{run.workspace}/{site}/log.txt", run.files[f"{run.workspace}/{other}/log.txt"])


@lie("logs of their member")
def _a_site_has_the_log_of_the_server(run, rng):
    run.write(f"{run.workspace}/{pick(rng, run.sites)}/log.txt", run.files[f"{run.workspace}/server/log.txt"])


@lie("logs of their member", several_sites)
def _a_site_has_the_log_of_another_with_names_patched(run, rng):
    """A clone of a site: its tasks are those of the other."""
    site, other = rng.sample(run.sites, 2)
    content = run.files[f"{run.workspace}/{other}/log.txt"].replace(other.encode(), site.encode())
    run.write(f"{run.workspace}/{site}/log.txt", content)


@lie("logs of their member")
def _a_site_s_log_of_another_run(run, rng):
    run_of = [name for name in _same_job(run) if name != run.name]
    other = run.copy_of(pick(rng, run_of))
    site = pick(rng, run.sites)
    run.write(f"{run.workspace}/{site}/log.txt", other.files[f"{other.workspace}/{site}/log.txt"])


@lie("logs of their member")
def _the_server_s_log_of_another_run(run, rng):
    other = run.copy_of(pick(rng, [name for name in _same_job(run) if name != run.name]))
    run.write(f"{run.workspace}/server/log.txt", other.files[f"{other.workspace}/server/log.txt"])


@lie("logs of their member")
def _all_logs_of_another_run(run, rng):
    other = run.copy_of(pick(rng, [name for name in _same_job(run) if name != run.name]))
    for member in run.members:
        run.write(f"{run.workspace}/{member}/log.txt", other.files[f"{other.workspace}/{member}/log.txt"])


def _same_job(run):
    return [name for name in recordings() if name.split("-")[0] == run.name.split("-")[0]]


@lie("logs of their member")
def _a_site_that_the_run_does_not_have_left_a_log(run, rng):
    site = pick(rng, run.sites)
    content = run.files[f"{run.workspace}/{site}/log.txt"].replace(site.encode(), b"site-7")
    run.write(f"{run.workspace}/site-7/log.txt", content)


lies(
    "site's log",
    {
        "a site never got a task": _drop(r"got task assignment", "site", every=True),
        "a site missed a task": _drop(r"got task assignment", "site"),
        "a site never sent a result": _drop(r"task result sent to server", "site", every=True),
        "a site missed to send a result": _drop(r"task result sent to server", "site"),
        "a site sent a result before its task": _swap(
            r"got task assignment", r"task result sent to server", "site"
        ),
        "a site had a task twice": _double(r"got task assignment", "site"),
        "a site sent a result twice": _double(r"task result sent to server", "site"),
        "a site was never asked to end": _drop(
            r"server asked to end the run|received request from Server to end", "site", every=True
        ),
        "a site's task has another id": _replace(
            r"(got task assignment: name=train, id=)[0-9a-f-]+",
            r"\g<1>00000000-0000-4000-8000-000000000000",
            "site",
        ),
        "a site says it is another": _replace(r"identity=site-\d", "identity=site-9", "site", every=True),
        "a site says in one line that it is another": _replace(
            r"identity=site-\d", "identity=site-9", "site"
        ),
    },
)


@lie("site's log")
def _the_launcher_s_exit_code_is_not_0(run, rng):
    """As NVFlare's launcher logs the end of a trainer that failed."""
    log = run.log(pick(rng, run.sites))
    place = pick(rng, places(log, r"END_RUN fired$|Calling stop task"))
    code = rng.choice((1, -9, -11, 137))
    text = rng.choice(
        (
            f"SubprocessLauncher - INFO - External process exited with return code {code}",
            f"LauncherExecutor - WARNING - External execution of train failed, return_code={code}",
        )
    )
    log.insert(place, f"{_stamp(log[place])} - {text}")


lies(
    "selection of the best model",
    {
        "a site's metric reached the server once less": _drop(r"validation metric \S+ from client"),
        "a site's metric is another at the server": _replace(
            r"validation metric \S+ from", "validation metric 0.123 from"
        ),
        "the server selected no best model": _drop(r"new best validation metric", every=True),
        "the best metric is one that no site told": _replace(
            r"(new best validation metric at round \d+: )\S+", r"\g<1>123.0"
        ),
        "the best metric is not a number": _replace(
            r"(new best validation metric at round \d+: )\S+", r"\g<1>nan"
        ),
        "the best model is of a round that is none": _replace(
            r"new best validation metric at round \d+", "new best validation metric at round 9"
        ),
    },
    where=claims("best_model_selected"),
)
lies(
    "messages",
    {
        "a message was not quantised": _drop(r"Quantized \d+/\d+ params", "site"),
        "the server did not quantise a message": _drop(r"Quantized \d+/\d+ params"),
        "a message was quantised in part": _replace(r"Quantized \d+/", "Quantized 1/"),
        "a message was quantised to more than it was": _replace(
            r"After quantization: [\d.]+ MB", "After quantization: 900.0 MB"
        ),
    },
    where=claims("messages_quantised"),
)
lies(
    "messages",
    {
        "a site's tensors were not produced": _drop(r"produced blobs for peer"),
        "a site's tensors were not consumed": _drop(r"consumed blobs from peer"),
        "no tensor was streamed": _replace(r"with \d+ tensors", "with 0 tensors"),
        "tensors were streamed to a stranger": _replace(r"(blobs \w+ peer) 'site-\d'", r"\g<1> 'site-9'"),
    },
    where=claims("tensors_streamed"),
)
lies(
    "logs show",
    {
        "a site's log does not show the collective": _replace(
            r"algorithm = nccl", "algorithm = ring", "site", every=True
        )
    },
    where=claims("site_logs_show"),
)
