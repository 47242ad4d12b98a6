# SPDX-License-Identifier: Apache-2.0
"""Action ``collect_facts``: writes a host's host.json, in one round trip and without Python there."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rekindle import hostfacts, records
from rekindle.actions.base import Action, find_configured_python
from rekindle.actions.limits import limit_action
from rekindle.gpus.choice import choose_gpus
from rekindle.host import folders
from rekindle.hostfacts.frames import ask_frames
from rekindle.records.layout import host_in, play_in


@limit_action
class ActionModule(Action):
    """Returns ``host``; with ``slurm`` it is a compute node, login.json has the login node, and
    node-<name>.json a node of each other kind in the partition.
    """

    _supports_check_mode = True

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Collect, which changes nothing on the host; fails if the host lacks what it needs."""
        if args["slurm"] and args["gpus"]:
            fix = "ask for as many in rekindle_slurm, and leave rekindle_gpus out."
            raise records.Complaint("rekindle_gpus is set, and SLURM chooses the GPUs.", fix)
        name, dest = task_vars["inventory_hostname"], Path(args["dest"])
        warnings: list[str] = []
        python = self._interpreter(task_vars)
        through = ["env", f"REKINDLE_ROOM={round(args['min_free_gb'] * 10**9)}"]
        through += [f"REKINDLE_PYTHON={python}"] if python else []
        frames = ask_frames(self._low_level_execute_command, args["root"], args["tmpdir"], through=through)
        host = hostfacts.read_host(frames, name, args["root"])
        for left in (dest / folders.LOGIN_RECORD, *dest.glob("node-*.json")):
            left.unlink(missing_ok=True)
        if args["slurm"]:
            host, warnings = self._nodes(host, frames["root"].text.strip(), args)
        host = choose_gpus(hostfacts.add_brought(host, args["python_archive"]), args["gpus"])
        if notice := hostfacts.describe_brought(host):
            warnings.append(notice)
        warnings += map(str, hostfacts.list_warnings(host))
        records.write_record(dest / folders.HOST_RECORD, host)
        lacks = hostfacts.find_unmet(
            host, gpus_required=args["gpus_required"], min_free_gb=args["min_free_gb"]
        )
        if not args["slurm"] and (twin := hostfacts.find_twin(host, _others(dest, task_vars))):
            lacks.append(twin)
        if lacks:
            raise records.Complaint.join(lacks)
        return {"changed": False, "host": records.dump_builtins(host), "warnings": warnings}

    def _interpreter(self, task_vars: dict[str, Any]) -> str:
        """Return the Python that the inventory, or ansible.cfg, names for the host; empty if none."""
        named = task_vars.get("ansible_python_interpreter")
        if not named or "_rekindle_found" in named:  # which is our own default
            return find_configured_python()
        python = str(self._templar.template(named))
        return "" if python.startswith("auto") else python

    def _nodes(
        self, login: records.HostRecord, place: str, args: dict[str, Any]
    ) -> tuple[records.HostRecord, list[str]]:
        """Return an allocated node and warnings; write the records of the cluster and other nodes."""
        from rekindle.slurm import cluster, inspection, settings  # noqa: PLC0415 - few have a cluster

        wanted = settings.read_setting(args["slurm"])
        login = replace(login, cluster=inspection.ask_cluster(self._low_level_execute_command))
        records.write_record(Path(args["dest"], folders.LOGIN_RECORD), login)
        warnings: list[str] = []
        if known := login.cluster:
            if refused := list(cluster.find_refusals(known, wanted, login.host)):
                raise records.Complaint.join(refused)
            warnings += cluster.find_warnings(known, wanted, login.host)
        there = inspection.ClusterNodes(self._low_level_execute_command, login, args["root"], args["tmpdir"])
        given, host = there.find_given(wanted, place)
        for name, seen in there.find_others(wanted, place, given):
            if isinstance(seen, str):
                warnings.append(seen)
            else:
                node = hostfacts.add_brought(seen, args["python_archive"])
                records.write_record(Path(args["dest"], f"node-{name}.json"), node)
        return host, warnings


def _others(dest: Path, task_vars: dict[str, Any]) -> Iterator[records.HostRecord]:
    """Yield the records of the play's other hosts that this run has collected."""
    with suppress(records.RecordError):
        began = play_in(dest.parent).latest.get(dest.name)
        for name in task_vars.get("ansible_play_hosts_all", ()):
            with suppress(records.RecordError):
                other = host_in(dest.parent / name)
                if name != dest.name and began and other.collected >= began:
                    yield other
