"""Lines more in logs and on the console, after which all that a run tells is as true as before."""

from log_edits import STAMP, places
from mutation_kinds import benign, of_ours, pick

WARNINGS = (
    "warnings - WARNING - /opt/torch/x.py:21: FutureWarning: `y` is deprecated",
    "PTClientAPILauncherExecutor - WARNING - max_resends is None (unbounded).",
    "SubprocessLauncher - INFO - WARNING: All messages before absl::InitializeLog() are written to STDERR",
    "SubprocessLauncher - INFO - UserWarning: The given NumPy array is not writable",
    "ClientRunner - INFO - no errors so far",
    "SubprocessLauncher - INFO - errors=0 failures=0",
    "conn_manager - DEBUG - Connection [CN00011 127.0.0.1:1 => 127.0.0.1:2] is created",
)


@benign("logs", ways=6)
def _a_harmless_warning(run, rng):
    log = run.log(pick(rng, run.members))
    place = pick(rng, [place for place in places(log, STAMP.pattern) if place > 3])
    log.insert(place, f"{STAMP.match(log[place]).group()} - {pick(rng, WARNINGS)}")


AFTERWORDS = (
    "ClientTaskWorker - INFO - Clean up ClientRunner for : site-1 ",
    "conn_manager - INFO - Connection [CN00002 Not Connected] is closed PID: 4711",
    "_Transaction - INFO - [server] download tx Tddedc867-b99e done: status=finished elapsed=2.45s "
    "size=0.0MB (10,128 bytes)",
)


@benign("logs", ways=3)
def _a_thread_that_writes_after_a_sites_last_word(run, rng):
    log = run.log(pick(rng, run.sites))
    last = list(places(log, STAMP.pattern))[-1]
    log.insert(last + 1, f"{STAMP.match(log[last]).group()} - {pick(rng, AFTERWORDS)}")


@benign("logs", of_ours)
def _a_server_that_is_slow_to_say_whether_it_waits_for_a_result(run, rng):
    """Its site sends it all the same."""
    site = pick(rng, run.sites)
    log = run.log(site)
    place = pick(rng, list(places(log, ".* start to send task result")))
    at, says = STAMP.match(log[place]).group(), "programming error: received TIMEOUT from server"
    told = f"{at} - ClientRunner - ERROR - [identity={site}, run=simulate_job] - {says}"
    log.insert(place, told)
    run.text(f"{run.workspace}/{site}/log_error.txt").insert(0, told)
    printed = f"\x1b[31m{at} - ERROR - {says}\x1b[0m\n".encode()
    run.write("job.log", run.files.get("job.log", b"") + printed)


NOISE = (
    "resource_tracker.py:279: UserWarning: There appear to be 1 leaked semaphore objects",
    "OMP: Info #276: omp_set_nested routine deprecated, please use omp_set_max_active_levels instead.",
    "bash: /usr/local/lib/libtinfo.so.6: no version information available (required by bash)",
    "W1121 02:30:00.000000 4711 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable",
)


@benign("logs", ways=4)
def _noise_on_stderr(run, rng):
    told = run.files.get("job.log", b"")
    run.write("job.log", ("\n".join(rng.sample(NOISE, 3)) + "\n").encode() + told)
