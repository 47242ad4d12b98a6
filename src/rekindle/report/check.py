# SPDX-License-Identifier: Apache-2.0
"""The result of ``--check``, for a terminal."""

from collections.abc import Iterator

from rekindle.records.text import clean_line, format_duration, list_few
from rekindle.results.causes import generalise_text
from rekindle.results.check import CheckData, HostCheck
from rekindle.results.contents import NO_HOSTS

from .plan import list_plan_lines


def format_check(checked: CheckData) -> str:
    """Return the answer for several hosts, and what would be done, once for all of which it is the same."""
    if not checked.hosts:
        return NO_HOSTS
    groups: dict[tuple[str, ...], list[HostCheck]] = {}
    names = {host.host for host in checked.hosts}
    for host in checked.hosts:
        groups.setdefault(_kind(host, names), []).append(host)
    refused_first = sorted(groups.values(), key=lambda group: group[0].word == "ready")
    lines = [clean_line(line) for group in refused_first for line in _lines(group)]
    return "\n".join([*_answer(checked.hosts), *lines])


def _answer(hosts: list[HostCheck]) -> Iterator[str]:
    if len(hosts) > 1:
        refused = sum(host.word == "refused" for host in hosts)
        rest = f"; {refused} refused" if refused else ""
        yield f"{len(hosts) - refused} of {len(hosts)} hosts ready{rest}."
        yield ""


def _kind(host: HostCheck, names: set[str]) -> tuple[str, ...]:
    """Return what hosts of these ``names`` have in common for which the same would be done."""
    rest = [line for line in _lines([host]) if not line.startswith("  lease: ")]
    return (host.word, generalise_text(host.cause or "", names), str(host.lease_suffices), *rest[1:])


def _lines(group: list[HostCheck]) -> Iterator[str]:
    """Yield the lines of hosts for which the same would be done; a sentence of theirs stands once."""
    host = min(group, key=lambda host: host.lease_left_s or 0)
    said = group[0].cause or ""
    count = f"{len(group)} hosts: " if len(group) > 1 else ""
    names = list_few([host.host for host in group])
    action = f", {host.action}" if host.action not in {None, "NONE"} else ""
    yield f"{count}{names}: {host.word}{action}{f': {said}' if said else ''}"
    for environment in host.environments:
        head, *more = list_plan_lines(environment.planned)
        there = {True: "; it is there already", False: "; it is to be built", None: ""}
        yield f"  {head}{there[environment.there] if environment.planned.build else ''}"
        yield from (f"  {line}" for line in more if line.strip() not in said)
    if host.wheels_mb is not None:
        yield f"  wheels to bring: at most {host.wheels_mb} MB"
    if host.fetch_mb is not None:
        yield f"  to fetch from the package index: at most {host.fetch_mb} MB"
    elif host.wheels_mb is None and any(environment.there is not None for environment in host.environments):
        yield "  to fetch from the package index: unknown, as the capsule is of another version of Rekindle"
    for number, job in enumerate(host.jobs, 1):
        inside = f", in {job.container}" if job.container else ""
        refusal = "refused" if job.refusal and str(job.refusal) in said else job.refusal
        what = f": {refusal}" if refusal else f"{inside}, about {format_duration(job.about_s)}"
        what += f", with {job.sends} of this machine sent along" if job.sends and not refusal else ""
        late = ", for which the time is too short" if job.in_time is False else ""
        yield f"  job {number}, {job.job}{'' if job.required else ' (not required)'}{what}{late}"
    if host.lease_left_s is not None:
        enough = "long enough for all jobs" if host.lease_suffices else "not long enough for all jobs"
        least = "at least " if len(group) > 1 else ""
        left = format_duration(host.lease_left_s)
        yield f"  lease: {least}{left} left, {enough}, without the time to build"
