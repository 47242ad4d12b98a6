# SPDX-License-Identifier: Apache-2.0
"""Runs with nothing wrong in them, some of which look as if there were: none may be anything but a PASS."""

import shutil
from pathlib import Path

from fault_runs import MARK, Edit, Fault
from slow_hosts import crowded, throttled

RECORDINGS = Path(__file__).parents[1] / "recordings" / "runs"


def _run(name, *edits):
    return Fault(name, "", edits, verdict="PASS")


def _in_round(lines):
    return Edit("client.py", "losses, began =", f"{MARK}\n{lines}")


FAILURES_THAT_ARE_NONE = """\
import logging, subprocess, sys, traceback
for count in range(2000):
    print(f'ERROR {count}: Traceback (most recent call last): ✓', file=sys.stderr)
    logging.error('CUDA out of memory was last week')
try:
    raise ConnectionRefusedError('no tracker here')
except OSError:
    traceback.print_exc()
print('x' * 10_000_000, flush=True)
print('\\udcff\\udcfe' * 1000)
child = subprocess.Popen(['sleep', '60'])
child.kill()
assert child.wait() == -9
"""
"""Noise, an exception that is handled, a line of 10 MB, one that UTF-8 has no code for, a killed child."""
REAL = [
    Fault("clean", "", (_in_round(""),), verdict="PASS"),
    Fault("clean, one site", "", (_in_round(""),), changes={"sites": 1}, verdict="PASS"),
    Fault(
        "clean, three sites, four rounds",
        "",
        (_in_round(""),),
        changes={"sites": 3, "rounds": 4},
        verdict="PASS",
    ),
    _run("silent for 40 s", _in_round('if SITE == "site-2" and number == 1:\n    time.sleep(40)')),
    _run("what looks like failures", _in_round(FAILURES_THAT_ARE_NONE)),
]

IMPORTS = Edit("client.py", "import nvflare.client", "import torch._dynamo")
"""What takes each trainer some seconds of CPU time, and says nothing."""
ROUNDS = Edit("client.py", "EPOCHS = 100", "EPOCHS = 5_000", instead=True)
"""Rounds of a quarter of a second: those of 5 ms pass within one share of a slow core, or wait for many."""
SLOW = [  # they need cgroups
    Fault(
        name,
        "",
        (*more, ROUNDS, _in_round("")),
        act=act,
        changes={"limit_s": 390, "silence_s": 30, "sites": sites},
        verdict="PASS",
    )
    for name, act, sites, more in (
        ("a host with 0.2 cores", throttled(0.2), 2, (IMPORTS,)),
        ("a core at load 6", crowded(6), 1, ()),
    )
]


def _traceback_in_a_log(run):
    log = next((run / "job" / "workspace").glob("*/site-1/log.txt"))
    with log.open("a") as stream:
        stream.write(
            "Traceback (most recent call last):\n"
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process 12 got signal: 15\n"
        )


def _cut_sample(run):
    """The driver's last line is cut off, as the disk was copied while it wrote."""
    with (run / "samples.jsonl").open("a") as stream:
        stream.write('{"event":"sample","time":17')


def _bytes_in_a_log(run):
    with (run / "job.log").open("ab") as stream:
        stream.write(b"\xff\xfe\x00 not UTF-8 \x80\n" * 1000)


def _as_recorded(run):
    pass


LOOKS = {
    "as recorded": _as_recorded,
    "a torchrun traceback at the end": _traceback_in_a_log,
    "a cut sample": _cut_sample,
    "bytes in a log": _bytes_in_a_log,
}


def recorded(name, looks, folder):
    """Return a copy of a recorded run that looks worse than it is."""
    run = Path(shutil.copytree(RECORDINGS / name, folder / "run"))
    LOOKS[looks](run)
    return run
