# SPDX-License-Identifier: Apache-2.0
"""Inspects a cluster from its login node, and allocated nodes as hosts are inspected."""

import secrets
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from rekindle.hostfacts import read_host
from rekindle.hostfacts.frames import FactsError, Frames, ask_frames, parse_frames
from rekindle.records import Allocation, Cluster, Complaint, HostRecord, dump_builtins
from rekindle.records.text import fold_line

from . import batch, cluster

_PATIENCE_S, _PATIENCE_OF_OTHERS_S = 120, 20
"""For SLURM to allocate a node for the request, and one of each other kind."""
_ASKING = "00:03:00"
_MOST_KINDS = 3
"""Other kinds that are inspected, at most, within the limit of preflight's task."""
Execute = Callable[..., dict[str, Any]]
"""An action's ``_low_level_execute_command``."""


def ask_cluster(execute: Execute) -> Cluster | None:
    """Return SLURM's description of its cluster; None if it cannot be used."""
    nonce = secrets.token_hex(8)
    try:
        return cluster.read_cluster(
            parse_frames(execute(cluster.make_query(nonce), sudoable=False)["stdout"], nonce)
        )
    except FactsError:
        return None


def make_srun(wanted: Allocation, what: str, *more: str) -> list[str]:
    """Return the srun by which a command runs for a short time on one node of those that are wanted."""
    asked = batch.make_options({**dump_builtins(wanted), "time": _ASKING})
    return ["srun", "--quiet", "--nodes=1", "--ntasks=1", f"--job-name=rekindle-{what}", *asked, *more]


class ClusterNodes:
    """The nodes that a login node's runs may get."""

    def __init__(self, execute: Execute, login: HostRecord, root: str, tmpdir: str) -> None:
        """Take the record of the login node; ``root`` and ``tmpdir`` are the inventory's."""
        self._execute, self._login, self._root, self._tmpdir = execute, login, root, tmpdir

    def find_given(self, wanted: Allocation, place: str) -> tuple[str, HostRecord]:
        """Return the name and record of an allocated node, which has the login node's folder ``place``.

        Raises:
            FactsError: none is allocated, or it has another folder there.
        """
        with self._marked(place) as mark:
            try:
                frames = self._inspect(wanted, mark, f"--immediate={_PATIENCE_S}")
            except FactsError as error:
                raise FactsError(
                    f"SLURM gives {self._login.host} no node to inspect: {error.message.rstrip('.')}.",
                    "correct rekindle_slurm, or see what sinfo lists for the partition.",
                ) from None
            if not frames["mark"].answered:
                where = f"on the nodes of {wanted.partition}"
                raise FactsError(
                    f"{place} on {self._login.host} is not the same folder {where}.",
                    "name a folder in rekindle_root that they share.",
                )
            name = frames["node"].text.strip() if "node" in frames else ""
            return name, replace(read_host(frames, self._login.host, self._root), allocation=wanted)

    def find_others(
        self, wanted: Allocation, place: str, given: str
    ) -> Iterator[tuple[str, HostRecord | str]]:
        """Yield a node of each kind other than ``given``'s in the partition, or why it was not inspected."""
        kinds = cluster.group_nodes(self._login.cluster, wanted.partition) if self._login.cluster else []
        for kind in [kind for kind in kinds if not cluster.has_node(kind, given)][:_MOST_KINDS]:
            fit = [group for group in kind if cluster.does_take_jobs(group)]
            name = cluster.take_first(fit[0].nodes) if fit else ""
            if not name:
                continue
            asked = wanted if "gpu" in (fit[0].gres or "") else replace(wanted, gpus_per_node=0)
            with self._marked(place) as mark:
                try:
                    now = (f"--nodelist={name}", f"--immediate={_PATIENCE_OF_OTHERS_S}")
                    frames = self._inspect(asked, mark, *now)
                    seen = read_host(frames, self._login.host, self._root)
                except Complaint as error:
                    yield name, f"{name} was not inspected: {error.message}"
                    continue
            if not frames["mark"].answered:
                yield name, f"{place} is not the same folder on {name}."
            yield name, replace(seen, allocation=wanted)

    def _inspect(self, wanted: Allocation, mark: str, *more: str) -> Frames:
        through = ["env", f"REKINDLE_MARK={mark}", *make_srun(wanted, "preflight", *more)]
        return ask_frames(self._execute, self._root, self._tmpdir, through=through)

    @contextmanager
    def _marked(self, place: str) -> Iterator[str]:
        """Keep a file in ``place``, so that a node can check that it has the same folder."""
        made = self._execute(f"mktemp {shlex.quote(place)}/.rekindle-XXXXXXXX")
        mark = made["stdout"].strip().rpartition("\n")[2]
        if made["rc"] or not mark:
            reason = fold_line(made["stderr"]) or "no file is made"
            raise FactsError(
                f"{place} on {self._login.host} cannot be written to: {reason}.",
                "name a folder in rekindle_root that the user of the host may write to.",
            )
        try:
            yield mark
        finally:
            self._execute(f"rm -f {shlex.quote(mark)}")
