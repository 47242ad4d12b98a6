"""Claims on who took part in a run, and for how many rounds, by what NVFlare's server logs: any workflow."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rekindle.flare.announced import Flow, Workflow
from rekindle.flare.tasks import Account, Task
from rekindle.judge.answer import Answer
from rekindle.judge.run import Run

from .registry import validator


@validator("workspace")
def every_site_took_part(run: Run, options: dict[str, Any]) -> Answer:
    """Every announced site returned each task that the workflows have for it, with something in it."""
    return took_part(Account(run.workspace))


def took_part(account: Account) -> Answer:
    """Whether every announced site returned every task of every workflow."""
    if not account.sites or not account.flows:
        return Answer(None, "Nothing tells which sites there should be, and what they should do.")
    answers = [_not_good(task, flow, account.ended) for flow in account.flows for task in account.of(flow)]
    answers += [_fewer(site, flow, account) for site in account.sites for flow in account.flows]
    wrong = [answer for answer in answers if answer]
    at = account.tasks[-1].last.at if account.tasks else None
    for answer in sorted(wrong, key=lambda answer: answer.holds is None):
        return answer if answer.at else answer._replace(at=at)
    count = sum(task.good for task in account.tasks)
    return Answer(True, f"{', '.join(account.sites)} returned all of {count} tasks.", at)


def _not_good(task: Task, flow: Workflow, ended: bool) -> Answer | None:
    """Say what is wrong with a result; nothing if it is good, one that a site may refuse, or may yet come."""
    if task.good or (flow.flow and task.name in flow.flow.refusable):
        return None
    if not task.came:
        says = f"{task.site} was given the task {task.name} and never answered."
        return Answer(False, says, task.last.at) if ended else None
    if task.empty:
        return Answer(False, f"{task.site} returned a result without parameters.", task.empty.at)
    says = f"{task.site}'s result of the task {task.name} has the return code {task.code}."
    return Answer(False if task.code else None, says, task.last.at)


def _fewer(site: str, flow: Workflow, account: Account) -> Answer | None:
    """Say of which task of a workflow ``site`` returned fewer than it should have."""
    done = Counter(task.name for task in account.of(flow) if task.site == site and task.good)
    if flow.flow is None:
        says = f"{site} returned no task of {flow.kind}, of whose tasks nothing is known."
        return None if done else Answer(None, says)
    for name, wanted in _asked(flow, flow.flow):
        if done[name] < (wanted or 1):
            chosen = flow.sampled(len(account.sites)) < len(account.sites)
            if flow.may_stop and done[name]:
                continue
            says = f"{site} returned {done[name]} of {wanted or 'its'} tasks {name} of {flow.kind}."
            return Answer(None if chosen or not account.ended else False, says)
    return None


def _asked(flow: Workflow, kind: Flow) -> list[tuple[str, int | None]]:
    """Return the tasks that a site may not refuse, and how many it has of each."""
    return [(name, wanted) for name, wanted in flow.tasks().items() if name not in kind.refusable]


@validator("workspace")
def rounds_completed(run: Run, options: dict[str, Any]) -> Answer:
    """Every workflow went on to its end, with every round that it announced."""
    own = run.spec.job.example and not run.spec.job.example.folder
    return completed(Account(run.workspace), run.spec.job.rounds if own else None)


def completed(account: Account, rounds: int | None = None) -> Answer:
    """Whether every workflow that was announced finished, one after the other, and trained for ``rounds``."""
    if not account.flows:
        return Answer(None, "Nothing tells which workflows there should be.")
    for flow in account.flows if rounds else ():
        if flow.flow and flow.flow.trains and flow.rounds not in {None, rounds}:
            says = f"job.yml expects {rounds} rounds, and the job announced {flow.rounds} to {flow.kind}"
            return Answer(False, f"{says}: pass {{rounds}} in its command, or correct rounds in job.yml.")
    answers = [_finished(account, flow) for flow in account.flows]
    for answer in sorted(answers, key=lambda answer: answer.holds is None):
        if not answer.holds:
            return answer if account.ended else answer._replace(holds=None)
    return Answer(True, " ".join(answer.says for answer in answers), answers[-1].at)


def _finished(account: Account, flow: Workflow) -> Answer:
    """Whether one workflow finished, by what its class logs."""
    if flow.flow is None:
        return _unknown(account, flow)
    done = list(account.logged(flow, flow.flow.done)) if flow.flow.done else []
    if flow.flow.round_done and flow.rounds is not None:
        ended = list(account.logged(flow, flow.flow.round_done))
        enough = len(ended) == flow.rounds or (flow.may_stop and 0 < len(ended) < flow.rounds)
        says = f"{flow.kind} completed {len(ended)} of {flow.rounds} rounds"
        if not enough or not done:
            return Answer(
                False,
                f"{says}{'' if done else ' and did not go on to its end'}.",
                ended[-1] if ended else None,
            )
        return Answer(True, f"{says}{'' if len(ended) == flow.rounds else ', as it may'}.", ended[-1])
    if flow.flow.done:
        says = f"{flow.kind} {'went' if done else 'did not go'} on to its end."
        return Answer(bool(done), says, done[-1] if done else None)
    return _by_tasks(account, flow, flow.flow)


def _by_tasks(account: Account, flow: Workflow, kind: Flow) -> Answer:
    """A workflow that logs no rounds: by the results of its tasks."""
    good = [task for task in account.of(flow) if task.good]
    at = good[-1].last.at if good else None
    for name, per_site in _asked(flow, kind):
        returned, wanted = sum(task.name == name for task in good), (per_site or 1) * len(account.sites)
        if returned < wanted or not wanted:
            says = (
                f"{flow.kind} had {returned} of {wanted if per_site else 'its'} results of the task {name}."
            )
            return Answer(None if flow.may_stop or not wanted else False, says, at)
    rounds = f" in {flow.rounds} rounds" if flow.rounds else ""
    return Answer(True, f"{flow.kind} had {len(good)} results{rounds}.", at)


def _unknown(account: Account, flow: Workflow) -> Answer:
    """A class of which nothing is known: by the rounds that it logs, where it announces some."""
    if flow.rounds is None:
        return Answer(None, f"{flow.kind} announces no rounds.")
    begun = list(account.logged(flow, r"Round \d{1,9} started"))
    says = f"{flow.kind} began {len(begun)} of {flow.rounds} rounds; nothing tells which it completed."
    return Answer(
        False if len(begun) < flow.rounds and not flow.may_stop else None, says, begun[-1] if begun else None
    )
