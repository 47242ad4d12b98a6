"""What the server and the sites log of rounds, tasks and results: in causal order, the same at both ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rekindle.flare.announced import workflows
from rekindle.flare.log import Entry
from rekindle.flare.tasks import GIVEN
from rekindle.flare.workspace import LogLine
from rekindle.judge.run import Run

from .registry import ANY, Doubt, rule

_STEPS = {
    "assigned": re.compile(r"got task assignment: name=(\S{1,200}), id=(\S{1,200})$"),
    "result": re.compile(r"task result sent to server$"),
    "ended": re.compile(r"(?:server asked to end the run|received request from Server to end current RUN)$"),
}
"""What a site logs of a task of any name, and of its end."""


@rule(*ANY)
def server_tells_in_order(run: Run) -> Iterator[Doubt]:
    """The server began each round in turn, gave each site a task, had its result, and then aggregated.

    Of examples, those with one FedAvg over all sites and all rounds; other workflows have words of their own,
    and of those the server's end alone is asked for.
    """
    if not any(entry.kind == "ended" for entry in run.ledger):
        yield Doubt("The server's log does not show that its runner finished.")
    rounds = _rounds(run)
    if rounds is None:
        end = "The server's runner finished"
        yield Doubt(f"{end}; the order of what is not one FedAvg of all sites is not known.", holds=True)
        return
    order = _Order(run, rounds)
    for entry in run.ledger:
        says = order.flaw(entry)
        if says:
            yield Doubt(says, entry.record.at)
    if not order.finished:
        yield Doubt("The server's log does not show that FedAvg finished.")


def _rounds(run: Run) -> int | None:
    """Return how many rounds FedAvg has to go; None where it need not go so."""
    example = run.spec.job.example
    if example is None:
        return run.spec.job.rounds
    flows = [flow for flow in workflows(run.workspace) if flow.kind == "FedAvg"]
    if len(flows) != 1:
        return None
    flow, sites = flows[0], len(run.spec.sites)
    if flow.may_stop or flow.sampled(sites) != sites or "train" not in flow.tasks():
        return None
    return run.spec.job.rounds if "{rounds}" in example.command else flow.rounds


class _Order:
    """How far the server is by its log, and what of the next entry does not follow from that."""

    def __init__(self, run: Run, rounds: int) -> None:
        self._sites, self._rounds = sorted(site.name for site in run.spec.sites), rounds
        self._began, self._round, self._aggregated, self._persisted = False, -1, len(self._sites), True
        self._sampled = True
        self._given: dict[str, str] = {}
        self._had: set[str] = set()
        self.finished = False

    def flaw(self, entry: Entry) -> str | None:
        """Take the next entry; return what is wrong with it, None if it follows."""
        aggregated = self._aggregated == len(self._sites)
        complete = self._began and aggregated and self._persisted and self._sampled and not self.finished
        match entry.kind:
            case "began":
                in_turn, says = not self._began, "FedAvg began twice."
                self._began = True
            case "round":
                in_turn = entry.number == self._round + 1 and complete
                says = f"Round {entry.number} began out of its turn."
                self._round, self._given, self._had = entry.number, {}, set()
                self._aggregated, self._persisted, self._sampled = 0, False, False
            case "sampled":
                in_turn = not self._sampled and sorted(entry.sites) == self._sites
                says = f"Round {self._round} was to be of {', '.join(entry.sites) or 'nobody'}."
                self._sampled = True
            case "assigned":
                in_turn = entry.site in self._sites and entry.site not in self._given and self._round >= 0
                says = f"{entry.site} got a task of round {self._round} out of its turn."
                self._given[entry.site] = entry.task
            case "result":
                in_turn = self._given.get(entry.site) == entry.task and entry.site not in self._had
                says = f"{entry.site}'s result of round {self._round} is of no task it was given."
                self._had.add(entry.site)
            case "aggregated":
                self._aggregated += 1
                in_turn = entry.number == self._aggregated <= len(self._had) and entry.of == len(self._sites)
                says = f"{entry.number}/{entry.of} results aggregated, {len(self._had)} had."
            case "persisted":
                in_turn = aggregated and not self._persisted
                says = f"The model of round {self._round} was saved out of its turn."
                self._persisted = True
            case "finished":
                in_turn = self._round == self._rounds - 1 and complete
                says = f"FedAvg finished in round {self._round} of {self._rounds}."
                self.finished = True
            case _:
                in_turn = self.finished
                says = "The server ended, or was asked to, before FedAvg had finished."
        return None if in_turn else says


def _no_task(run: Run) -> str | None:
    given = any(entry.kind == "assigned" for entry in run.ledger)
    return None if given else "The server gave no site a task."


@rule(exempt=_no_task)
def sites_tell_the_same(run: Run) -> Iterator[Doubt]:
    """Each site has the tasks that the server gave it, in that order, and sent one result of each."""
    given: dict[str, list[str]] = {}
    for entry in run.ledger:
        if entry.kind == "assigned":
            given.setdefault(entry.site, []).append(entry.task)
    for site in run.spec.sites:
        entries = run.site_ledgers[site.name]
        tasks = [entry.task for entry in entries if entry.kind == "assigned"]
        if tasks != given.get(site.name, []):
            yield Doubt(f"{site.name}'s log has other tasks than the server gave it.", _at(entries))
        kinds = [entry.kind for entry in entries if entry.kind in ("assigned", "result")]
        if kinds != ["assigned", "result"] * len(tasks):
            yield Doubt(f"{site.name} did not send one result for each of its tasks.", _at(entries))
        for word in run.wording.task:
            count = sum(word in record.message for record in run.records(site.name))
            if count < len(tasks):
                yield Doubt(f"{site.name}'s log has {count} of {len(tasks)} times: {word}")
        if not any(entry.kind == "ended" for entry in entries):
            yield Doubt(f"The server did not ask {site.name} to end.", _at(entries))


@rule(3)
def sites_had_the_servers_tasks(run: Run) -> Iterator[Doubt]:
    """Each site has the tasks that the server gave it, in that order, and sent one result of each."""
    given: dict[str, list[str]] = {}
    for line in run.find("server", GIVEN.pattern):
        given.setdefault(line.match[1], []).append(f"{line.match[2]} {line.match[3]}")
    for site in run.spec.sites:
        steps = [(kind, match) for record in run.records(site.name) for kind, match in _steps(record.message)]
        tasks = [f"{match[1]} {match[2]}" for kind, match in steps if kind == "assigned"]
        if tasks != given.get(site.name, []):
            yield Doubt(f"{site.name}'s log has other tasks than the server gave it.")
        kinds = [kind for kind, _ in steps if kind != "ended"]
        if kinds != ["assigned", "result"] * len(tasks):
            yield Doubt(f"{site.name} did not send one result for each of its tasks.")
        if not any(kind == "ended" for kind, _ in steps):
            yield Doubt(f"The server did not ask {site.name} to end.")


def _steps(message: str) -> Iterator[tuple[str, re.Match[str]]]:
    for kind, pattern in _STEPS.items():
        if match := pattern.search(message):
            yield kind, match


@rule(*ANY)
def logs_are_of_their_sites(run: Run) -> Iterator[Doubt]:
    """Each site has the log of one start of its own client, and no other site left one."""
    names = {site.name for site in run.spec.sites}
    for name in names:
        joined = [entry for entry in run.site_ledgers[name] if entry.kind == "joined"]
        if [entry.site for entry in joined] != [name]:
            yield Doubt(f"The log of {name} is not one start of its client.", _at(joined))
        for record in run.records(name):
            identity = re.search(r"\[identity=([^,\]]+)", record.context)
            if identity and identity[1] != name:
                yield Doubt(f"The log of {name} is {identity[1]}'s.", record.at)
    for name in run.workspace.sites:
        if name not in names:
            yield Doubt(f"{name}, which the run does not have, left a log.")


def _at(entries: list[Entry]) -> LogLine | None:
    return entries[-1].record.at if entries else None
