# SPDX-License-Identifier: Apache-2.0
"""A run over several nodes of a SLURM allocation: samples of the other nodes, and the end of all its steps.

The driver, NVFlare's server and its clients run on the first node. On all nodes, this one too, trainers are
children of SLURM's own daemon; a process belongs to the run whose folder its REKINDLE_EVIDENCE lies in.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import msgspec
import psutil

from rekindle.driver.places import Nodes, PlaceError
from rekindle.driver.processes import end_all, find_descendants, find_members
from rekindle.driver.sampler import Sampler
from rekindle.driver.snapshot import Process, Snapshot, list_living
from rekindle.host import files, folders
from rekindle.host.variables import name_machine
from rekindle.records import RecordError, RunSpec, allow_decoding, decode_json
from rekindle.records.events import GpuSample

from .allocation import end_steps
from .steps import make_step, name_steps

_PERIOD_S = 1.0
_LOG = "samplers.log"
_AUTOPSY_S = 60.0


@allow_decoding
class _Look(msgspec.Struct):
    """What one of the other nodes reports of one moment."""

    node: str
    processes: tuple[Process, ...]
    gpus: dict[str, GpuSample]


def watch_node(run_dir: Path, spec: RunSpec, stopped: threading.Event) -> None:
    """Take samples on this node, one of the others, until ``stopped``; then end what is left of the run here.

    Each sample also goes to the driver, as a line on standard output.
    """
    here = name_machine(os.environ)
    sampler = Sampler(run_dir / folders.name_samples(here), spec.gpus_on(here), spec.nonce or None)
    try:
        while not stopped.is_set():
            now = Snapshot(time.monotonic(), list_living(find_members(run_dir)))
            look = _Look(here, now.processes, sampler.sample(now))
            sys.stdout.buffer.write(msgspec.json.encode(look) + b"\n")
            sys.stdout.buffer.flush()
            stopped.wait(_PERIOD_S)
    except BrokenPipeError:  # nobody listens any more
        pass
    finally:
        end_all(find_members(run_dir))


class AllocatedNodes(Nodes):
    """The nodes of one run, as seen by its driver on the first."""

    def __init__(self, run_dir: Path, spec: RunSpec) -> None:
        """Take a run that has no process yet."""
        self._run_dir, self._spec = run_dir, spec
        self._steps = name_steps(spec.nonce)
        self._newest: dict[str, _Look] = {}
        self._srun: psutil.Popen | None = None
        self._reader: threading.Thread | None = None

    def start(self) -> None:
        """Start a sampler on each of the other nodes."""
        if not self._spec.nodes[1:]:
            return
        command, none, pipe = self._on_others("watch", "samplers"), subprocess.DEVNULL, subprocess.PIPE
        with (self._run_dir / _LOG).open("wb") as log:
            self._srun = psutil.Popen(command, stdin=none, stdout=pipe, stderr=log, start_new_session=True)
        self._reader = threading.Thread(target=self._read, args=(self._srun.stdout,), daemon=True)
        self._reader.start()

    def _on_others(self, verb: str, name: str) -> list[str]:
        """Return the command that runs a verb of the driver on each other node, as a step of that name."""
        others = self._spec.nodes[1:]
        return [
            *make_step(f"{self._steps}-{name}", len(others), f"--nodelist={','.join(others)}"),
            *(sys.executable, "-m", "rekindle.slurm", verb, str(self._run_dir)),
        ]

    def autopsy(self) -> None:
        """Run an autopsy on each of the other nodes that answers; it never fails."""
        if self._spec.nodes[1:]:
            command, silent = self._on_others("autopsy", "autopsy"), subprocess.DEVNULL
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    command, stdin=silent, stdout=silent, stderr=silent, check=False, timeout=_AUTOPSY_S
                )

    def _read(self, stream: IO[bytes]) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the supervisor's
        for line in stream:
            with suppress(RecordError):
                look = decode_json(line, _Look)
                self._newest[look.node] = look

    def check(self) -> None:
        """Check that each of the other nodes started its sampler, as far as is known by now.

        The step of a run's ranks may hang where a node takes none, for as long as its rendezvous waits.

        Raises:
            PlaceError: the samplers' step is over, and a node never reported anything.
        """
        if self._reader is None or self._reader.is_alive():
            return
        if missing := [name for name in self._spec.nodes[1:] if name not in self._newest]:
            lines = files.read_end(self._run_dir / _LOG, 1 << 16).decode("utf-8", "replace").splitlines()
            errors = [line for line in lines if "error" in line.lower()]
            why = next(reversed(errors or lines), "srun gave no reason")
            raise PlaceError(f"No sampler started on {', '.join(missing)}: {why[:200]}")

    def processes(self) -> list[psutil.Process]:
        """Return the run's processes on this node."""
        found = (*find_descendants(), *find_members(self._run_dir))
        return list({process.pid: process for process in found}.values())

    def samplers(self) -> list[psutil.Process]:
        """Return this node's srun processes that run the samplers on the other nodes."""
        with suppress(psutil.Error):
            return [self._srun, *self._srun.children()] if self._srun else []
        return []

    def join(self, now: Snapshot, gpus: Mapping[str, GpuSample]) -> tuple[Snapshot, dict[str, GpuSample]]:
        """Return this node's snapshot and GPU samples, with the newest of the other nodes."""
        looks = list(self._newest.values())
        others = (replace(process, node=look.node) for look in looks for process in look.processes)
        together = {uuid: gpu for look in looks for uuid, gpu in look.gpus.items()}
        return replace(now, processes=(*now.processes, *others)), {**gpus, **together}

    def end(self) -> None:
        """End all steps of the run, and what is left on this node; samplers do so on the others."""
        end_steps(self._steps)
        end_all(find_members(self._run_dir))
