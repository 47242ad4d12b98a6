# SPDX-License-Identifier: Apache-2.0
"""A SLURM cluster as its commands on a login node describe it, and what in it keeps runs waiting."""

import re
import shlex
from collections.abc import Iterable, Iterator

from rekindle.hostfacts.frames import Frames
from rekindle.records import Allocation, Cluster, Complaint, NodeGroup, RecordError, convert_builtins
from rekindle.records.allocation import parse_limit

_LIMIT_S = 30
_FIELDS = ("partition", "up", "time_limit", "count", "state", "cpus", "memory_mib", "gres", "features")
_SINFO = "sinfo --all --exact --noheader --format='%P|%a|%l|%D|%T|%c|%m|%G|%f|%N|%E'"
_SACCTMGR = "sacctmgr --noheader --parsable2 show"
_ACCOUNTS = f'{_SACCTMGR} assoc user="$(id -un)" format=account,partition,qos,maxwall,maxjobs,grptres,maxtres'
_QOS = f"{_SACCTMGR} qos format=name,maxwall,maxjobspu,grptres,maxtrespu"
_UNFIT = ("down", "drain", "fail", "maint", "error", "inval", "unk", "no_respond", "power", "reboot", "block")
"""Prefixes of states in which a node takes no job; a * after any means that it does not respond."""
_NONE = {"", "(null)", "none", "N/A"}


def make_query(nonce: str) -> str:
    """Return shell commands that ask SLURM, in the collector's frames."""
    asked = {"sinfo": _SINFO, "accounts": _ACCOUNTS, "qos": _QOS}
    lines = [
        f"answer=$(LC_ALL=C timeout {_LIMIT_S} sh -c {shlex.quote(command)} 2>/dev/null); "
        f"printf '\\n@@{nonce} {name} %s\\n%s\\n' $? \"$answer\""
        for name, command in asked.items()
    ]
    return "; ".join([*lines, f"printf '\\n@@{nonce} end 0\\n'"])


def read_cluster(frames: Frames) -> Cluster | None:
    """Return the cluster in the frames; None if they cannot be used."""
    if not frames["sinfo"].answered:
        return None
    lines = [(name, line) for name in ("accounts", "qos") for line in frames[name].text.splitlines()]
    limits = [f"{name}: {line}" for name, line in lines if line.strip() and frames[name].answered]
    try:
        groups = tuple(map(_group, filter(str.strip, frames["sinfo"].text.splitlines())))
        return convert_builtins({"groups": groups, "limits": limits}, Cluster)
    except (ValueError, RecordError):
        return None


def _group(line: str) -> dict[str, object]:
    *words, nodes, why = line.split("|", len(_FIELDS) + 1)
    fields: dict[str, object] = dict(zip(_FIELDS, words, strict=True))
    numbers = {name: int(str(fields[name]).rstrip("+")) for name in ("count", "cpus", "memory_mib")}
    none = {name: None for name in ("gres", "features") if fields[name] in _NONE}
    partition = str(fields["partition"]).rstrip("*")
    own = {"nodes": nodes, "why": None if why in _NONE else why, "partition": partition}
    return {**fields, **numbers, **none, **own, "up": fields["up"] == "up"}


def find_refusals(known: Cluster, wanted: Allocation, host: str) -> Iterator[Complaint]:
    """Yield a complaint about each request that the cluster of ``host`` can never fulfil."""
    groups = _groups_of(known, wanted.partition)
    if not groups:
        names = ", ".join(dict.fromkeys(group.partition for group in known.groups)) or "none"
        message = f"{host} has no partition {wanted.partition}; it has {names}."
        yield Complaint(message, "name another in rekindle_slurm.")
        return
    if (count := sum(group.count for group in groups)) < wanted.nodes:
        message = (
            f"{wanted.partition} of {host} has {count} nodes, and rekindle_slurm asks for {wanted.nodes}."
        )
        yield Complaint(message, f"ask for nodes: {count}, or for another partition.")
    limit = parse_limit(groups[0].time_limit)
    own_qos = any(option.startswith(("--qos", "-q")) for option in wanted.extra)  # it may allow more
    if limit is not None and wanted.time_s > limit and not own_qos:
        message = f"{wanted.partition} of {host} gives no more time than {groups[0].time_limit}"
        fix = "ask for no more, or for another partition."
        yield Complaint(f"{message}, and rekindle_slurm asks for {wanted.time}.", fix)


def find_warnings(known: Cluster, wanted: Allocation, host: str) -> Iterator[str]:
    """Warn about what may keep jobs waiting, or give them another kind of node than the inspected one."""
    groups = _groups_of(known, wanted.partition)
    unfit = [group for group in groups if not does_take_jobs(group)]
    if not all(group.up for group in groups):
        yield f"{wanted.partition} of {host} is not up, so that no job starts there."
    if (fit := sum(group.count for group in groups if does_take_jobs(group))) < wanted.nodes:
        states = [f"{one.nodes} is {one.state}{f' ({one.why})' if one.why else ''}" for one in unfit]
        message = f"{fit} nodes of {wanted.partition} take jobs now"
        yield f"{message}, and rekindle_slurm asks for {wanted.nodes}: {', '.join(states)}."
    node_kinds = group_nodes(known, wanted.partition)
    if len(node_kinds) > 1:
        listed = "; ".join(
            f"{', '.join(one.nodes for one in kind)} ({_kind(kind[0])})" for kind in node_kinds
        )
        message = f"{wanted.partition} of {host} has {len(node_kinds)} kinds of nodes"
        fix = "select some by --constraint, --nodelist or --exclude in rekindle_slurm's extra."
        yield f"{message}, and runs may get any: {listed}. Fix: {fix}"


def group_nodes(known: Cluster, partition: str) -> list[list[NodeGroup]]:
    """Return the groups of a partition by kind of node, in any state."""
    by_kind: dict[str, list[NodeGroup]] = {}
    for group in _groups_of(known, partition):
        by_kind.setdefault(_kind(group), []).append(group)
    return list(by_kind.values())


def _kind(group: NodeGroup) -> str:
    more = filter(None, (group.gres, group.features))
    return ", ".join([f"{group.cpus} CPUs", f"{group.memory_mib} MiB", *more])


def does_take_jobs(group: NodeGroup) -> bool:
    """Whether jobs start on these nodes now, or once others have ended."""
    return not group.state.startswith(_UNFIT) and not group.state.endswith("*")


def take_first(nodes: str) -> str:
    """Return the first name in SLURM's node list: ``n9`` of ``n[9-10],m1``; empty if it is not a name."""
    name = re.sub(r"\[(\w+)[^\[\]]*\]", r"\1", nodes).partition(",")[0]
    return name if re.fullmatch(r"\w[\w.-]{0,99}", name, re.ASCII) else ""


def has_node(groups: Iterable[NodeGroup], node: str) -> bool:
    """Whether a node is in these groups."""
    items = (item for group in groups for item in re.findall(r"[^,\[]+(?:\[[^\[\]]*\][^,\[]*)*", group.nodes))
    return any(_is_among(node, item) for item in items)


_BRACKETS = 4
"""Ranges of numbers in a name, at most; clusters have one or two."""


def _is_among(node: str, item: str) -> bool:
    """Whether ``n10`` is one of ``n[9-10,12]``."""
    parts = re.split(r"\[([^\[\]]*)\]", item)
    if len(parts) > 2 * _BRACKETS + 1:
        return False
    pattern = "".join(r"(\d{1,9})" if number % 2 else re.escape(part) for number, part in enumerate(parts))
    match = re.fullmatch(pattern, node)
    return match is not None and all(
        any(_within(value, bounds) for bounds in ranges.split(","))
        for value, ranges in zip(match.groups(), parts[1::2], strict=True)
    )


def _within(value: str, bounds: str) -> bool:
    low, _, high = bounds.partition("-")
    numbers = re.fullmatch(r"[0-9]{1,9}", low) and re.fullmatch(r"[0-9]{0,9}", high)
    return bool(numbers) and len(value) >= len(low) and int(low) <= int(value) <= int(high or low)


def _groups_of(known: Cluster, partition: str) -> list[NodeGroup]:
    return [group for group in known.groups if group.partition == partition]
