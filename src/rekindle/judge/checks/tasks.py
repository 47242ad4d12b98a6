# SPDX-License-Identifier: Apache-2.0
"""What ran, and whether the logs of the server and the sites have the same tasks."""

import math
import re
from collections.abc import Iterator

from rekindle.flare.log import TO_END
from rekindle.flare.tasks import CAME, GIVEN
from rekindle.flare.workspace import SERVER
from rekindle.judge.check import Result, holds, register_check, unknown
from rekindle.judge.clocks import SLACK_S
from rekindle.judge.run import Run

from .log_ends import is_in_turn

_JOINED = re.compile(
    r"Initialize ClientRunner for client: (?P<simulated>\S{1,200})$"
    r"|^(?P<federated>\S{1,200})\.[\da-f-]{36}: created backbone internal connector"
)
_STEPS = {
    "assigned": re.compile(r"got task assignment: name=(\S{1,200}), id=(\S{1,200})$"),
    "result": re.compile(r"task result sent to server$"),
    "ended": TO_END,
}


@register_check(
    "federated",
    holds="The verdict names the commit of the example or code that ran, its mends, and its data.",
)
def runs_as_described(run: Run) -> Result:
    example = run.spec.job.example
    assert example is not None
    if example.folder:
        parts = [f"NVFlare's {example.folder} of {run.spec.versions.get('examples', 'an unknown commit')}"]
    else:
        code = run.spec.versions.get("code")
        whose = f"the user's own, its code {code}" if code else "as Rekindle has it"
        parts = [f"{run.spec.job.name}, {whose}"]
    if run.spec.job.image:
        digest = run.spec.versions.get("image id", "unknown")
        parts.append(f"in the container {run.spec.job.image} ({digest})")
    mends = [mend for mend in example.mends if mend.where == "anywhere" or not run.spec.gpus]
    parts += [f"{mend.file} mended ({mend.because}; fault: {mend.fault})" for mend in mends]
    if data := run.spec.job.data:
        parts.append(f"data: {data.from_} of the {data.where}")
    parts += [f"data: a stand-in for {name}, not the real one" for name in example.data]
    return holds(f"{'; '.join(parts)}.", "spec.json")


@register_check(
    "federated",
    holds="Each site has the tasks that the server gave it, in that order, and sent a result of each.",
)
def sites_had_the_servers_tasks(run: Run) -> Iterator[Result]:
    given: dict[str, list[str]] = {}
    for line in run.logs.find(SERVER, GIVEN.pattern):
        given.setdefault(line.match[1], []).append(f"{line.match[2]} {line.match[3]}")
    when, slack = _times_of_tasks(run), SLACK_S + run.clocks.slack_s
    for site in run.spec.sites:
        records, zone = run.logs.records(site.name), run.clocks.ahead_s(site.name)
        steps = [(kind, match, record) for record in records for kind, match in _steps(record.message)]
        assigned = [(match, record) for kind, match, record in steps if kind == "assigned"]
        tasks = [f"{match[1]} {match[2]}" for match, _ in assigned]
        if tasks != given.get(site.name, []):
            yield unknown(f"{site.name}'s log has other tasks than the server gave it.")
        for match, record in assigned:
            given_at, came_at = when.get(match[2], (-math.inf, math.inf))
            if not given_at - slack <= record.time - zone <= came_at + slack:
                yield unknown(
                    f"{site.name} had a task at another time than the server's log has it.", record.at
                )
        missed = [match for match, _ in assigned if match[2] in run.account.missable]
        kinds = [kind for kind, match, _ in steps if kind != "ended" and match not in missed]
        if kinds != ["assigned", "result"] * (len(tasks) - len(missed)):
            yield unknown(f"{site.name} did not send one result for each of its tasks.")
        if not any(kind == "ended" for kind, *_ in steps) and not is_in_turn(run):
            yield unknown(f"The server did not ask {site.name} to end.")


def _times_of_tasks(run: Run) -> dict[str, tuple[float, float]]:
    """Return by task's id when the server gave it and got its result, seconds since the epoch.

    A task whose result did not come has no end.
    """
    times: dict[str, tuple[float, float]] = {}
    zone = run.clocks.ahead_s(SERVER)
    for record in run.logs.records(SERVER):
        when = record.time - zone
        if given := GIVEN.search(record.message):
            times.setdefault(given[3], (when, math.inf))
        elif came := CAME.search(record.message):
            times[came[3]] = times.get(came[3], (when, when))[0], when
    return times


def _steps(message: str) -> Iterator[tuple[str, re.Match[str]]]:
    for kind, pattern in _STEPS.items():
        if match := pattern.search(message):
            yield kind, match


@register_check(
    "federated", holds="Each site has the log of one start of its own client, and no other site left one."
)
def logs_are_of_their_sites(run: Run) -> Iterator[Result]:
    names = [site.name for site in run.spec.sites]
    timed: dict[tuple[str, ...], str] = {}
    for name in names:
        records = run.logs.records(name)
        other = timed.setdefault(tuple(record.match[1] for record in records), name)
        if other != name and records:
            yield unknown(f"The log of {name} has the times of {other}'s, line by line.", records[0].at)
        found = filter(None, (_JOINED.search(record.message) for record in records))
        joined = [match["simulated"] or match["federated"] for match in found]
        if {*joined} != {name} or (len(joined) > 1 and not is_in_turn(run)):
            yield unknown(f"The log of {name} is not one start of its client.")
    for name in sorted({*run.workspace.sites} - {*names, *run.sites.lost}):
        yield unknown(f"{name}, which the run does not have, left a log.")
