# SPDX-License-Identifier: Apache-2.0
"""Claims on who took part in a run, and for how many rounds, by what NVFlare's server logs: any workflow."""

from collections import Counter

from rekindle.flare.configuration import Flow, Workflow, list_trainers
from rekindle.flare.tasks import Account, Task
from rekindle.judge.check import Options, Result, fails, hold_if, holds, rank_result, register_claim, unknown
from rekindle.judge.run import Run
from rekindle.records.events import TaskEvent
from rekindle.records.evidence import EvidenceLine
from rekindle.records.text import list_few

from .early_ends import explain_end

_WITH_A_REASON = (
    "A stop by the wrong sign looks the same: have sites report the metric by which it stops, give the "
    "workflow its limit as an argument, or announce as many rounds as it is to have."
)


@register_claim(
    holds="Every announced site returned each task that the workflows have for it, with something in it.",
    of_all=True,
)
def every_site_took_part(run: Run, options: Options) -> Result:
    """A workflow that samples its sites for each round may leave some out of all."""
    account = run.account
    if not account.sites or not account.flows:
        return unknown("The expected sites and tasks are unknown.")
    found = [_not_good(task, flow, account) for flow in account.flows for task in account.list_tasks(flow)]
    found += [_fewer(site, flow, account) for site in account.sites for flow in account.flows]
    at = account.tasks[-1].last.at if account.tasks else None
    for result in sorted(filter(None, found), key=rank_result):
        return result if result.at else result._replace(at=at)
    good = [task.site for task in account.tasks if task.good]
    returned = ", ".join(site for site in account.sites if site in good)
    late = Counter(task.site for task in account.tasks if task.late)
    never = ", ".join(site for site in account.sites if site not in {*good, *late})
    left = f" Never chosen, as the job samples its sites: {never}." if never else ""
    counts = " and ".join(f"{count} of {site}" for site, count in late.items())
    left += f" The rounds went on without what came too late: {counts}." if late else ""
    return holds(f"{returned} returned all of {len(good)} tasks.{left}", at)


def _not_good(task: Task, flow: Workflow, account: Account) -> Result | None:
    if task.good or task.id in account.missable or (flow.flow and task.name in flow.flow.refusable):
        return None
    if not task.came:
        message = f"{task.site} was given the task {task.name} and never answered."
        return fails(message, task.last.at) if account.ended else None
    if task.empty:
        return fails(f"{task.site} returned a result without parameters.", task.empty.at)
    message = f"{task.site}'s result of the task {task.name} has the return code {task.code}."
    return (fails if task.code else unknown)(message, task.last.at)


def _fewer(site: str, flow: Workflow, account: Account) -> Result | None:
    good = [task for task in account.list_tasks(flow) if task.good]
    done = Counter(task.name for task in good if task.site == site)
    of_round = flow.count_sampled(len(account.sites))
    samples = of_round < len(account.sites)
    if flow.flow is None:
        message = f"{site} returned no task of {flow.kind}, whose tasks are unknown."
        return None if done or samples else unknown(message)
    if any(task.site == site and task.id in account.missable for task in account.list_tasks(flow)):
        return None
    for name, wanted in _asked(flow, flow.flow):
        of_all = [task for task in good if task.name == name]
        complete = samples and wanted is not None and len(of_all) == wanted * of_round
        if done[name] >= (wanted or 1) or complete or (done[name] and flow.may_stop):
            continue
        message = f"{site} returned {done[name]} of {wanted or 'its'} tasks {name} of {flow.kind}."
        if flow.kind == "CyclicController":
            wait = flow.arguments.get("task_assignment_timeout", 10)
            message += f" NVFlare passes over a site that does not ask for its turn within {wait} s."
        if samples:
            return unknown(f"{message} It samples {of_round} of {len(account.sites)} sites a round.")
        return (fails if account.ended else unknown)(message)
    return None


def _asked(flow: Workflow, kind: Flow) -> list[tuple[str, int | None]]:
    return [(name, wanted) for name, wanted in flow.tasks().items() if name not in kind.refusable]


@register_claim(holds="Every workflow went on to its end, with every round that it announced.", of_all=True)
def rounds_completed(run: Run, options: Options) -> Result:
    account, example = run.account, run.spec.job.example
    shown = "rounds" not in run.spec.job.assumed
    asked = shown and example and (not example.folder or "{rounds}" in example.command)
    rounds = run.spec.job.rounds if asked else None
    if not account.flows:
        return unknown("The expected workflows are unknown.")
    for flow in account.flows if rounds else ():
        if (flow.flow is None or flow.flow.trains) and flow.rounds not in {None, rounds}:
            return fails(
                f"job.yml expects {rounds} rounds, and the job announced {flow.rounds} to {flow.kind}: "
                "pass {rounds} in its command, or correct rounds in job.yml."
            )
    found = [_finished(run, flow) for flow in account.flows]
    worst = min(found, key=rank_result)
    if worst.state != "holds":
        return worst if account.ended else worst._replace(state="unknown")
    return holds(" ".join(result.message for result in found), found[-1].at)


def _finished(run: Run, flow: Workflow) -> Result:
    account = run.account
    if flow.flow is None or flow.flow.between_sites:
        return _by_models(run, flow)
    done = list(account.find_logged(flow, flow.flow.done)) if flow.flow.done else []
    if flow.flow.round_done and flow.rounds is not None:
        ended = account.count_rounds(flow, flow.flow.round_done)
        enough = len(ended) == flow.rounds or (flow.may_stop and 0 < len(ended) < flow.rounds)
        end = ", as it may" if len(ended) != flow.rounds else ""
        if not enough or not done:
            end = "" if done else " and did not go on to its end"
        message = f"{flow.kind} completed {len(ended)} of {flow.rounds} rounds{end}."
        return (holds if enough and done else fails)(message, ended[-1] if ended else None)
    if flow.flow.done:
        message = f"{flow.kind} {'went' if done else 'did not go'} on to its end."
        return hold_if(done, message, done[-1] if done else None)
    return _by_tasks(account, flow, flow.flow)


def _by_tasks(account: Account, flow: Workflow, kind: Flow) -> Result:
    """Judge a workflow that logs no rounds by the results of its tasks."""
    good = [task for task in account.list_tasks(flow) if task.good]
    at = good[-1].last.at if good else None
    for name, per_site in _asked(flow, kind):
        returned, wanted = sum(task.name == name for task in good), (per_site or 1) * len(account.sites)
        if returned < wanted or not wanted:
            of = wanted if per_site else "its"
            message = f"{flow.kind} had {returned} of {of} results of the task {name}."
            return (unknown if flow.may_stop or not wanted else fails)(message, at)
    rounds = f" in {flow.rounds} rounds" if flow.rounds else ""
    return holds(f"{flow.kind} had {len(good)} results{rounds}.", at)


def _by_models(run: Run, flow: Workflow) -> Result:
    """Judge swarm learning, or an unknown class, by its rounds and by its sites' results."""
    account, lines = run.account, run.training.models or run.training.results
    names = {line.event.task for line in lines}
    trainers = list_trainers(run.workspace, flow, account.sites, names)
    seen = {site: _rounds_of(lines, site) for site in trainers}
    said = None if "rounds" in run.spec.job.assumed else run.spec.job.rounds
    wanted = flow.rounds or said or max(seen.values(), default=1)
    unsaid = "" if flow.rounds or said else "; nothing says how many it should have"
    of_round = flow.count_sampled(len(seen))
    if lines and seen and sum(min(count, wanted) for count in seen.values()) >= wanted * of_round:
        every = (
            "every site"
            if len(seen) == len(account.sites)
            else f"every site that has {list_few(sorted(names))}"
        )
        whose = f"{of_round} sites" if of_round < len(seen) else every
        message = f"A model of {whose} was received in {wanted} rounds of {flow.kind}{unsaid}."
        return holds(message, lines[-1])
    if flow.flow is None and account.ended and (result := _chosen(run, flow, lines, seen, wanted)):
        return result._replace(at=lines[-1])
    begun = list(account.find_logged(flow, r"Round \d{1,9} started"))
    message = f"{flow.kind} began {len(begun)} of {flow.rounds} rounds; it does not log which it completed."
    if begun and flow.rounds and len(begun) < flow.rounds and not flow.may_stop:
        return fails(message, begun[-1])
    if lines and seen:
        site = min(seen, key=seen.__getitem__)
        message = f"A model of {site} was received in {seen[site]} of {wanted} rounds of {flow.kind}."
    elif flow.rounds is None:
        fix = (
            "" if run.kind == "foreign" else ": leave rounds_completed out of job.yml's proof if it has none"
        )
        message = f"{flow.kind} announces no rounds{fix}."
    return unknown(message, begun[-1] if begun else None)


def _chosen(
    run: Run, flow: Workflow, lines: list[EvidenceLine[TaskEvent]], seen: dict[str, int], wanted: int
) -> Result | None:
    """Judge a user's own class that ended by itself, or chose its sites for each round; None for others."""
    counts, events = {*seen.values()}, [line.event for line in lines]
    sent = list(dict.fromkeys(event.sent for event in events))  # each is a round, numbered or not
    rounds = (
        (event.site, sent.index(event.sent) if event.round is None else event.round) for event in events
    )
    numbered = sorted(rounds)
    of_rounds, last = Counter(number for _, number in numbered), dict(numbered)
    if not events or not counts:
        return None
    stayed = len(last) == len(seen) and min(last.values()) >= max(of_rounds) / 2  # as of asynchronous ones
    owed = (task for task in run.account.list_tasks(flow) if task.id not in run.account.missable)
    chosen = len({*of_rounds.values()}) == 1 or stayed
    if len(of_rounds) >= wanted and chosen and min(counts) > 0 and all(task.good for task in owed):
        each = ", ".join(f"{count} of {site}" for site, count in seen.items())
        return holds(f"{flow.kind} chose its sites for each of {wanted} rounds, and all answered: {each}.")
    if len(counts) == 1 and 0 < min(counts) < wanted:
        shown, why = explain_end(run, flow)
        message = f"{flow.kind} ended by itself after {min(counts)} of at most {wanted} rounds, {why}."
        return holds(message) if shown else unknown(f"{message} {_WITH_A_REASON}")
    return None


def _rounds_of(lines: list[EvidenceLine[TaskEvent]], site: str) -> int:
    """Return in how many rounds a site sent a model; a workflow of a user's own may not number them."""
    numbers = [line.event.round for line in lines if line.event.site == site]
    return len(numbers if None in numbers else set(numbers))
