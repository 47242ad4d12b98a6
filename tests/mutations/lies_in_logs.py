"""Contradictions in the lines of the logs of server, sites and job."""

from log_edits import STAMP, double, drop, places, replace, stamp, swap
from mutation_kinds import claims, lie, lies, pick, several_sites

AGGREGATED = r"Aggregated 2/2 results"
RESULT = r"got result from client site-\d"
STARTED = r"Round \d+ started"

lies(
    "server's log",
    {
        "the server missed an aggregation": drop(AGGREGATED),
        "the server missed all aggregations": drop(AGGREGATED, every=True),
        "the server missed the first of two contributions": drop(r"Aggregated 1/2 results"),
        "the server missed a site's result": drop(RESULT),
        "the server missed a start of a round": drop(STARTED),
        "the server never sampled clients": drop(r"Sampled clients", every=True),
        "the server never sent a task": drop(r"assigned task to client", every=True),
        "the server did not assign a site its task": drop(r"assigned task to client"),
        "the server did not persist a model": drop(r"End persist model"),
        "the server never finished": drop(r"Server runner finished", every=True),
        "the server never finished FedAvg": drop(r"Finished FedAvg", every=True),
        "the server never started FedAvg": drop(r"Start FedAvg", every=True),
        "the server aggregated twice in a round": double(AGGREGATED),
        "the server had a result twice": double(RESULT),
        "the server started a round twice": double(STARTED),
        "the server finished twice": double(r"Finished FedAvg"),
        "the server aggregated before a contribution": swap(
            r"got result from client", r"Aggregated \d/2 results"
        ),
        "the server aggregated 2 before 1": swap(r"Aggregated 1/2", r"Aggregated 2/2"),
        "the server started a round before it aggregated": swap(AGGREGATED, STARTED),
        "the server finished before it aggregated": swap(AGGREGATED, r"Finished FedAvg"),
        "the server had results before the round started": swap(STARTED, RESULT),
        "the server had a result before it sent the task": swap(
            r"assigned task to client site-1", r"got result from client site-1"
        ),
        "the server persisted before it aggregated": swap(AGGREGATED, r"End persist model"),
        "the server aggregated one of two": replace(r"Aggregated 2/2", "Aggregated 1/2"),
        "the server aggregated one of one": replace(r"Aggregated 2/2", "Aggregated 1/1"),
        "the server aggregated three of three": replace(r"Aggregated 2/2", "Aggregated 3/3"),
        "the server aggregated zero of two": replace(r"Aggregated 1/2", "Aggregated 0/2"),
        "the server sampled one client": replace(r"Sampled clients: \[.*\]", "Sampled clients: ['site-1']"),
        "the server sampled strangers": replace(
            r"Sampled clients: \[.*\]", "Sampled clients: ['site-8', 'site-9']"
        ),
        "both results are of one site": replace(
            r"got result from client site-\d", "got result from client site-1", every=True
        ),
        "a result is of a stranger": replace(
            r"got result from client site-\d", "got result from client site-9"
        ),
        "a round has another number": replace(r"Round \d+ started", "Round 7 started"),
        "all rounds have one number": replace(r"Round \d+ started", "Round 0 started", every=True),
        "a peer_rc is EXECUTION_EXCEPTION": replace(r"peer_rc=OK", "peer_rc=EXECUTION_EXCEPTION"),
        "a peer_rc is EMPTY_RESULT": replace(r"peer_rc=OK", "peer_rc=EMPTY_RESULT"),
        "every peer_rc is TASK_ABORTED": replace(r"peer_rc=OK", "peer_rc=TASK_ABORTED", every=True),
        "a task exits with TIMEOUT": replace(r"TaskCompletionStatus\.OK", "TaskCompletionStatus.TIMEOUT"),
        "a task exits with CANCELLED": replace(r"TaskCompletionStatus\.OK", "TaskCompletionStatus.CANCELLED"),
        "a task exits with ABORTED": replace(r"TaskCompletionStatus\.OK", "TaskCompletionStatus.ABORTED"),
        "a result of another task": replace(
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
            log.insert(place, f"{stamp(log[place])} - {text.format(level=level)}")

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
        f"{stamp(log[place])} - ServerRunner - INFO - Aborting current RUN due to FATAL_SYSTEM_ERROR",
    )


@lie("server gave up")
def _the_server_was_asked_to_abort_before_its_end(run, rng):
    """At the end of every run it asks itself, after FedAvg has finished."""
    log = run.log("server")
    place = pick(rng, [place for place in places(log, STARTED) if STAMP.match(log[place + 3])])
    log.insert(
        place + 3,
        f"{stamp(log[place + 3])} - ServerRunner - INFO - asked to abort - triggered abort_signal",
    )


lies(
    "site's log",
    {
        "a site never got a task": drop(r"got task assignment", "site", every=True),
        "a site missed a task": drop(r"got task assignment", "site"),
        "a site never sent a result": drop(r"task result sent to server", "site", every=True),
        "a site missed to send a result": drop(r"task result sent to server", "site"),
        "a site sent a result before its task": swap(
            r"got task assignment", r"task result sent to server", "site"
        ),
        "a site had a task twice": double(r"got task assignment", "site"),
        "a site sent a result twice": double(r"task result sent to server", "site"),
        "a site was never asked to end": drop(
            r"server asked to end the run|received request from Server to end", "site", every=True
        ),
        "a site's task has another id": replace(
            r"(got task assignment: name=train, id=)[0-9a-f-]+",
            r"\g<1>00000000-0000-4000-8000-000000000000",
            "site",
        ),
        "a site says it is another": replace(r"identity=site-\d", "identity=site-9", "site", every=True),
        "a site says in one line that it is another": replace(r"identity=site-\d", "identity=site-9", "site"),
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
    log.insert(place, f"{stamp(log[place])} - {text}")


lies(
    "selection of the best model",
    {
        "a site's metric reached the server once less": drop(r"validation metric \S+ from client"),
        "a site's metric is another at the server": replace(
            r"validation metric \S+ from", "validation metric 0.123 from"
        ),
        "the server selected no best model": drop(r"new best validation metric", every=True),
        "the best metric is one that no site told": replace(
            r"(new best validation metric at round \d+: )\S+", r"\g<1>123.0"
        ),
        "the best metric is not a number": replace(
            r"(new best validation metric at round \d+: )\S+", r"\g<1>nan"
        ),
        "the best model is of a round that is none": replace(
            r"new best validation metric at round \d+", "new best validation metric at round 9"
        ),
    },
    where=claims("best_model_selected"),
)
lies(
    "messages",
    {
        "a message was not quantised": drop(r"Quantized \d+/\d+ params", "site"),
        "the server did not quantise a message": drop(r"Quantized \d+/\d+ params"),
        "a message was quantised in part": replace(r"Quantized \d+/", "Quantized 1/"),
        "a message was quantised to more than it was": replace(
            r"After quantization: [\d.]+ MB", "After quantization: 900.0 MB"
        ),
    },
    where=claims("messages_quantised"),
)
lies(
    "messages",
    {
        "a site's tensors were not produced": drop(r"produced blobs for peer"),
        "a site's tensors were not consumed": drop(r"consumed blobs from peer"),
        "no tensor was streamed": replace(r"with \d+ tensors", "with 0 tensors"),
        "tensors were streamed to a stranger": replace(r"(blobs \w+ peer) 'site-\d'", r"\g<1> 'site-9'"),
    },
    where=claims("tensors_streamed"),
)
lies(
    "logs show",
    {
        "a site's log does not show the collective": replace(
            r"algorithm = nccl", "algorithm = ring", "site", every=True
        )
    },
    where=claims("site_logs_show"),
)
