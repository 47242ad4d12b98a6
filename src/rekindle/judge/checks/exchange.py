# SPDX-License-Identifier: Apache-2.0
"""Results of sites, as our component at the server recorded them: all of them, sound, and their own."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator

from rekindle.flare.log import TO_END, TRAINERS
from rekindle.flare.tasks import CAME
from rekindle.flare.workspace import SERVER
from rekindle.host import folders
from rekindle.judge.check import Result, fails, register_check, unknown
from rekindle.judge.run import Run
from rekindle.judge.sketches import EXACT, QUANTISED, is_same, sketch_made
from rekindle.judge.tasks import TRAINS
from rekindle.records.events import DeviceEvent, RoundEvent, Sketch, TaskEvent
from rekindle.records.evidence import EvidenceLine

_NO_NAMES = hashlib.sha256(b"").hexdigest()
"""Of a result without floating-point numbers."""
_AGGREGATED = r"Contribution from (\S{1,200}) ACCEPTED by the aggregator at round"
"""A site's message when it aggregates a result of swarm learning."""


@register_check(
    "federated",
    holds="Our component at the server recorded every result that the server's log has, and no other.",
)
def server_recorded_every_result(run: Run) -> Iterator[Result]:
    """In swarm learning the components at the sites do so for what each of them aggregated."""
    logged = Counter((SERVER, line.match[1], line.match[2]) for line in run.logs.find(SERVER, CAME.pattern))
    for name in run.account.aggregators:
        logged.update((name, line.match[1], TRAINS) for line in run.logs.find(name, _AGGREGATED))
    results = Counter(
        (folders.parse_recorder(line.file)[0] or SERVER, line.event.site, line.event.task)
        for line in run.results
    )
    if not results:
        yield unknown("Our component at the server recorded no result.")
    rounds = Counter(
        (line.event.site, line.event.task, line.event.round, line.event.workflow) for line in run.results
    )
    own = {flow.id for flow in run.account.flows if not flow.flow}  # may number models as it likes
    for (site, task, number, flow), count in sorted(rounds.items(), key=str):
        if number is not None and count > 1 and flow not in own:
            yield unknown(f"{site} gave the server a result of {task} twice in round {number}.")
    for key in sorted(logged.keys() | results.keys()):
        owner, site, task = key
        if logged[key] != results[key]:
            counts = f"{logged[key]} results of {site} for {task}"
            yield unknown(f"The log of {owner} has {counts}, and our component recorded {results[key]}.")


@register_check(
    "federated",
    "foreign",
    holds="Every result is OK and finite, and every task and launched process ended well.",
)
def results_are_good(run: Run) -> Iterator[Result]:
    yield from _bad_results(run)
    yield from _bad_ends(run)


def _bad_results(run: Run) -> Iterator[Result]:
    for line in run.results:
        event = line.event
        whose = f"{event.site}'s result of {event.task}"
        whose += "" if event.round is None else f" in round {event.round}"
        if event.return_code != "OK":
            yield fails(f"{whose} has the return code {event.return_code}.", line)
        elif event.finite is False:
            yield fails(f"{whose} is not finite.", line)
        elif event.kind == "METRICS" and not event.values:
            yield fails(f"{whose} has no metric that is a number.", line)
        elif event.names not in {None, _NO_NAMES} and not event.sketch:
            yield unknown(f"{whose} has names of weights, and no sketch of them.", line)


def _bad_ends(run: Run) -> Iterator[Result]:
    for record in run.logs.records("server"):
        for code in re.findall(r"peer_rc=(\w+)", record.context):
            if code != "OK":
                yield fails(f"The server had a result with the return code {code}.", record.at)
        status = re.search(r"exit with status (?:TaskCompletionStatus\.)?(\w+)", record.message)
        if status and status[1] != "OK" and not (status[1] == "CLIENT_DEAD" and run.sites.lost):
            yield fails(f"A task of the server ended with {status[1]}.", record.at)
    for site in run.spec.sites:
        over = False
        for record in run.logs.records(site.name):
            over = over or bool(TO_END.search(record.message))
            failed = re.search(
                r"launcher completed with status (?!success)\w+|Failed external setup|_PEER_GONE_"
                r"|exit(?:ed)? with (?:code|status) (?!0\b)-?\d+|return[ _]code[:=]? ?(?!0\b)-?\d+",
                record.message if record.logger not in TRAINERS else "",
            )
            if failed and not (over and failed[0] == "_PEER_GONE_"):  # NVFlare then ends what it launched
                yield fails(f"{site.name} logged the end of a trainer: {record.message[:300]}", record.at)


def skip_without_ranks(run: Run) -> str | None:
    """Return why checks of what ranks recorded do not apply to a run; None if they do."""
    return None if run.find(RoundEvent) else "The trainers record nothing by themselves."


def skip_without_devices(run: Run) -> str | None:
    """Return why checks of what ranks ran on do not apply to a run; None if they do."""
    return None if run.find(DeviceEvent) else "The trainers record no device by themselves."


@register_check(
    "federated",
    holds="The model from which every rank starts a round is the one that the server sent its site.",
    needs=(TaskEvent,),
    unless=skip_without_ranks,
)
def trainers_start_from_the_servers_model(run: Run) -> Iterator[Result]:
    for line in _find_other(run, lambda event: event.sketch_in, lambda task: task.sent):
        event = line.event
        yield fails(f"{event.who} started round {event.round} from another model than the server's.", line)


@register_check(
    "federated",
    holds="What the server got from a site is what every rank of it ended the round with.",
    needs=(TaskEvent,),
    unless=skip_without_ranks,
)
def server_gets_what_trainers_made(run: Run) -> Iterator[Result]:
    for line in _find_other(
        run, lambda event: event.sketch_out, lambda task: task.sketch and sketch_made(task)
    ):
        event = line.event
        yield fails(f"The server got another model in round {event.round} than {event.who} made.", line)


def _find_other(
    run: Run, read: Callable[[RoundEvent], Sketch | None], seen: Callable[[TaskEvent], Sketch]
) -> Iterator[EvidenceLine[RoundEvent]]:
    """Yield each round whose model by its rank is not the server's; nearly, if messages have fewer bits."""
    tasks = {(line.event.site, line.event.round): line.event for line in run.training.results}
    for line in run.find(RoundEvent):
        task = tasks.get((line.event.site, line.event.round))
        model = seen(task) if task else ()
        coarse = task is not None and task.bytes < 4 * task.values
        if model and not is_same(read(line.event), model, QUANTISED if coarse else EXACT):
            yield line
