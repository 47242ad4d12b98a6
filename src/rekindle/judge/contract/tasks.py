"""What NVFlare's server got for each task, of examples that write no evidence of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rekindle.flare.tasks import CAME, GIVEN
from rekindle.judge.run import Run
from rekindle.records.events import TaskEvent

from .registry import Doubt, rule


@rule(3)
def runs_as_described(run: Run) -> Iterator[Doubt]:
    """The verdict says which commit's example or whose code ran, what was mended in it, and on what data."""
    example = run.spec.job.example
    if example is None:
        yield Doubt("The run's spec is of an example and describes none.", "spec.json")
        return
    if example.folder:
        parts = [f"NVFlare's {example.folder} of {run.spec.versions.get('examples', 'an unknown commit')}"]
    else:
        parts = [f"{run.spec.job.name}, the user's own, its code {run.spec.versions.get('code', 'unknown')}"]
    if example.container:
        digest = run.spec.versions.get("image id", "unknown")
        parts.append(f"in the container {example.container.image} ({digest})")
    mends = [mend for mend in example.mends if mend.where == "anywhere" or not run.spec.gpus]
    parts += [f"{mend.file} mended ({mend.because}; fault: {mend.fault})" for mend in mends]
    parts += [f"data: a stand-in for {name}, not the real one" for name in example.data]
    yield Doubt(f"{'; '.join(parts)}.", "spec.json", holds=True)


@rule(3)
def server_told_every_result(run: Run) -> Iterator[Doubt]:
    """Our component at the server told every result that the server's log has, site by site, and no other."""
    given, logged = _count(run, GIVEN.pattern), _count(run, CAME.pattern)
    results = Counter((line.event.site, line.event.task) for line in run.of(TaskEvent))
    if not results:
        yield Doubt("Our component at the server told no result.")
    for site, task in sorted(logged.keys()):
        if given[site, task] < logged[site, task]:
            yield Doubt(f"The server's log has more results of {site} for {task} than it gave it tasks.")
    rounds = Counter(
        (line.event.site, line.event.task, line.event.round)
        for line in run.of(TaskEvent)
        if line.event.round is not None
    )
    for (site, task, number), count in sorted(rounds.items()):
        if count > 1:
            yield Doubt(f"{site} gave the server a result of {task} twice in round {number}.")
    for site, task in sorted(logged.keys() | results.keys()):
        if logged[site, task] != results[site, task]:
            yield Doubt(
                f"The server's log has {logged[site, task]} results of {site} for {task}, and our component "
                f"there told {results[site, task]}."
            )


@rule(3, needs=(TaskEvent,))
def results_are_sound(run: Run) -> Iterator[Doubt]:
    """Every result has the return code OK, and what it has in numbers is finite."""
    for line in run.of(TaskEvent):
        event = line.event
        whose = f"{event.site}'s result of {event.task}{_round(event)}"
        if event.return_code != "OK":
            yield Doubt(f"{whose} has the return code {event.return_code}.", line, holds=False)
        elif event.finite is False:
            yield Doubt(f"{whose} is not finite.", line, holds=False)
        elif (event.norm is None) is bool(event.values):
            yield Doubt(f"{whose} has {event.values} numbers and says otherwise of their size.", line)


def _count(run: Run, pattern: str) -> Counter[tuple[str, str]]:
    """Return how often a line of the server's log is of which site and task."""
    return Counter((line.match[1], line.match[2]) for line in run.find("server", pattern))


def _round(event: TaskEvent) -> str:
    return "" if event.round is None else f" in round {event.round}"
