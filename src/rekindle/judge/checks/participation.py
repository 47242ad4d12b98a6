"""Claims on who took part in a run, and for how many rounds, by what NVFlare's server logs: any workflow."""

from __future__ import annotations

from collections import Counter

from rekindle.flare.announced import Flow, Workflow
from rekindle.flare.tasks import Account, Task
from rekindle.judge.check import GRAVITY, Result, check, fails, holds, shown, unknown
from rekindle.judge.run import Run


@check("claim")
def every_site_took_part(run: Run) -> Result:
    """Every announced site returned each task that the workflows have for it, with something in it."""
    account = run.account
    if not account.sites or not account.flows:
        return unknown("Nothing tells which sites there should be, and what they should do.")
    found = [_not_good(task, flow, account.ended) for flow in account.flows for task in account.of(flow)]
    found += [_fewer(site, flow, account) for site in account.sites for flow in account.flows]
    at = account.tasks[-1].last.at if account.tasks else None
    for result in sorted(filter(None, found), key=_gravity):
        return result if result.at else result._replace(at=at)
    count = sum(task.good for task in account.tasks)
    return holds(f"{', '.join(account.sites)} returned all of {count} tasks.", at)


def _not_good(task: Task, flow: Workflow, ended: bool) -> Result | None:
    """Say what is wrong with a result; nothing if it is good, one that a site may refuse, or may yet come."""
    if task.good or (flow.flow and task.name in flow.flow.refusable):
        return None
    if not task.came:
        says = f"{task.site} was given the task {task.name} and never answered."
        return fails(says, task.last.at) if ended else None
    if task.empty:
        return fails(f"{task.site} returned a result without parameters.", task.empty.at)
    says = f"{task.site}'s result of the task {task.name} has the return code {task.code}."
    return (fails if task.code else unknown)(says, task.last.at)


def _fewer(site: str, flow: Workflow, account: Account) -> Result | None:
    """Say of which task of a workflow ``site`` returned fewer than it should have."""
    done = Counter(task.name for task in account.of(flow) if task.site == site and task.good)
    if flow.flow is None:
        says = f"{site} returned no task of {flow.kind}, of whose tasks nothing is known."
        return None if done else unknown(says)
    for name, wanted in _asked(flow, flow.flow):
        if done[name] < (wanted or 1):
            chosen = flow.sampled(len(account.sites)) < len(account.sites)
            if flow.may_stop and done[name]:
                continue
            says = f"{site} returned {done[name]} of {wanted or 'its'} tasks {name} of {flow.kind}."
            return (unknown if chosen or not account.ended else fails)(says)
    return None


def _asked(flow: Workflow, kind: Flow) -> list[tuple[str, int | None]]:
    """Return the tasks that a site may not refuse, and how many it has of each."""
    return [(name, wanted) for name, wanted in flow.tasks().items() if name not in kind.refusable]


@check("claim")
def rounds_completed(run: Run) -> Result:
    """Every workflow went on to its end, with every round that it announced."""
    account, example = run.account, run.spec.job.example
    asked = example and (not example.folder or "{rounds}" in example.command)
    rounds = run.spec.job.rounds if asked else None
    if not account.flows:
        return unknown("Nothing tells which workflows there should be.")
    for flow in account.flows if rounds else ():
        if flow.flow and flow.flow.trains and flow.rounds not in {None, rounds}:
            says = f"job.yml expects {rounds} rounds, and the job announced {flow.rounds} to {flow.kind}"
            return fails(f"{says}: pass {{rounds}} in its command, or correct rounds in job.yml.")
    found = [_finished(account, flow) for flow in account.flows]
    worst = min(found, key=_gravity)
    if worst.state != "holds":
        return worst if account.ended else worst._replace(state="unknown")
    return holds(" ".join(result.says for result in found), found[-1].at)


def _gravity(result: Result) -> int:
    return GRAVITY.index(result.state)


def _finished(account: Account, flow: Workflow) -> Result:
    """Whether one workflow finished, by what its class logs."""
    if flow.flow is None:
        return _unknown(account, flow)
    done = list(account.logged(flow, flow.flow.done)) if flow.flow.done else []
    if flow.flow.round_done and flow.rounds is not None:
        ended = list(account.logged(flow, flow.flow.round_done))
        enough = len(ended) == flow.rounds or (flow.may_stop and 0 < len(ended) < flow.rounds)
        says = f"{flow.kind} completed {len(ended)} of {flow.rounds} rounds"
        if not enough or not done:
            says += "" if done else " and did not go on to its end"
            return fails(f"{says}.", ended[-1] if ended else None)
        return holds(f"{says}{'' if len(ended) == flow.rounds else ', as it may'}.", ended[-1])
    if flow.flow.done:
        says = f"{flow.kind} {'went' if done else 'did not go'} on to its end."
        return shown(done, says, done[-1] if done else None)
    return _by_tasks(account, flow, flow.flow)


def _by_tasks(account: Account, flow: Workflow, kind: Flow) -> Result:
    """A workflow that logs no rounds: by the results of its tasks."""
    good = [task for task in account.of(flow) if task.good]
    at = good[-1].last.at if good else None
    for name, per_site in _asked(flow, kind):
        returned, wanted = sum(task.name == name for task in good), (per_site or 1) * len(account.sites)
        if returned < wanted or not wanted:
            says = (
                f"{flow.kind} had {returned} of {wanted if per_site else 'its'} results of the task {name}."
            )
            return (unknown if flow.may_stop or not wanted else fails)(says, at)
    rounds = f" in {flow.rounds} rounds" if flow.rounds else ""
    return holds(f"{flow.kind} had {len(good)} results{rounds}.", at)


def _unknown(account: Account, flow: Workflow) -> Result:
    """A class of which nothing is known: by the rounds that it logs, where it announces some."""
    if flow.rounds is None:
        return unknown(f"{flow.kind} announces no rounds.")
    begun = list(account.logged(flow, r"Round \d{1,9} started"))
    says = f"{flow.kind} began {len(begun)} of {flow.rounds} rounds; nothing tells which it completed."
    missing = len(begun) < flow.rounds and not flow.may_stop
    return (fails if missing else unknown)(says, begun[-1] if begun else None)
