# SPDX-License-Identifier: Apache-2.0
"""Claims on results other than models: evaluations, statistics, survival curves, Flower's rounds."""

import json
import math
import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from rekindle.flare import configuration
from rekindle.flare.workspace import SERVER, Member, Workspace
from rekindle.judge.check import Options, Result, fails, holds, register_claim, unknown
from rekindle.judge.run import Run
from rekindle.records.events import TaskEvent
from rekindle.records.evidence import EvidenceLine

_EVALUATED = "eval_ckpt"
"""The model that a workflow sends which only logs metrics: FedEvalRecipe's argument."""
_NO_DIGEST = "quantile"
"""The statistic that good runs leave empty where its package is not installed."""
_GLOBAL = "Global"
_WITHHELD = r"(MinCount|HistogramBins)Cleanser - INFO - .{0,300}\bfeature '([^']{1,200})'"
"""A site's message when it keeps a feature's statistics private, of which it has few values."""
_ADD_UP = {"count": 0.0, "sum": 1e-3}
"""Statistics of all sites that are those of each added up, within a share of them: sums are rounded."""
_LARGEST = 1e300
"""Larger figures are implausible; JSON's integers have no bound."""
_STILL = 1e-6
"""Relative variation of a loss over a complete data set where no weight moved."""
_RECEIVED = re.compile(r"aggregate_fit: received (\d{1,9}) results and (\d{1,9}) failures")
_FLOWER_DONE = re.compile(r"Run finished (\d{1,9}) round\(s\)")
_FLOWER_PREFIX = re.compile(r"(?m)^.{0,20}?INFO\s.{0,20}?: {1,6}")
_FLOWER_SERIES = re.compile(r"'([^'\n]{1,100})': \[([^\[\]']{1,100000})\]")
_FLOWER_LOSS = re.compile(r"History \(loss, (\w{1,20})\):((?:\s{1,20}round \d{1,9}: \S{1,30})+)")
_FLOWER_POINT = re.compile(r"\(\d{1,9}, ([^()\s,]{1,30})\)|round \d{1,9}: (\S{1,30})")


@register_claim(
    holds="Each announced site evaluated every model, and reported at least one finite metric of each."
)
def cross_validation_complete(run: Run, options: Options) -> Result:
    sites, at, evaluations = run.account.sites, *_list_evaluations(run)
    if at is None or not sites:
        return unknown("No cross_val_results.json is there, or the sites are unknown.")
    rows = {site: _table(row) for site, row in _table(evaluations).items()}
    models = sorted({model for row in rows.values() for model in row})
    if not models:
        return fails("The cross-site evaluation is empty: no model was evaluated.", at)
    for site in sites:
        for model in models:
            metrics = rows.get(site, {}).get(model)
            if not metrics:
                return fails(f"{site} did not evaluate the model {model}.", at)
            if not any(map(math.isfinite, find_numbers(metrics))):
                return fails(f"{site} reported no finite metric of the model {model}.", at)
    found = {site: {json.dumps(rows[site][model], sort_keys=True) for model in models} for site in sites}
    alike = all(len(metrics) == 1 for metrics in found.values())
    few = len(models) < 3 and len(set().union(*found.values())) > 1  # accuracies of two models may agree
    if alike and not few and len({*sites, *models}) < len(sites) + len(models) - 1:  # two sites' own models
        figures = ", ".join(f"{metrics.pop()} at {site}" for site, metrics in found.items())
        message = (
            f"{', '.join(models)} have all {figures}: "
            "nothing shows that they were evaluated; a loss beside it would."
        )
        return unknown(message, at)
    return holds(f"{len(sites)} sites each evaluated {', '.join(models)}.", at)


def _list_evaluations(run: Run) -> tuple[Path | EvidenceLine[TaskEvent] | None, Any]:
    """Return where the metrics of each site and model are, and those; some workflows write none down."""
    if not any(flow.flow and flow.flow.logs_metrics for flow in run.account.flows):
        return _json(run.workspace, SERVER, "cross_val_results.json")
    answers = [line for line in run.results if line.event.kind == "METRICS"]
    metrics = {line.event.site: {_EVALUATED: line.event.metrics} for line in answers}
    return answers[-1] if answers else None, metrics


@register_claim(
    holds="Every requested statistic is there for every announced site and for all together; counts add up."
)
def statistics_complete(run: Run, options: Options) -> Result:
    workspace, sites = run.workspace, run.account.sites
    asked = next((flow.arguments.get("statistic_configs") for flow in run.account.flows), None)
    paths = [
        component.get("args", {}).get("output_path") for component in configuration.read_components(workspace)
    ]
    name = next((Path(path).name for path in paths if isinstance(path, str) and path), "")
    at, features = _json(workspace, SERVER, name) if name else (None, None)
    if not sites or not isinstance(asked, dict):
        return unknown("The expected statistics or sites are unknown.")
    if at is None:
        return fails("The server wrote no file of statistics.")
    if not isinstance(features, dict) or not features:
        return fails("The file of statistics has no feature.", at)
    withheld = {(site, *line.match.groups()) for site in sites for line in run.logs.find(site, _WITHHELD)}
    wrong = next(_missing(features, sorted(map(str, asked)), sites, withheld), None)
    if wrong:
        return fails(wrong, at)
    if doubt := next(_doubtful(features, sites), None):
        return unknown(doubt, at)
    return holds(f"{len(asked)} statistics of {len(features)} features of {', '.join(sites)} and of all.", at)


def _missing(
    features: dict[str, Any], asked: list[str], sites: list[str], withheld: Collection[tuple[str, ...]]
) -> Iterator[str]:
    for statistic in asked:
        if statistic != _NO_DIGEST and not any(
            statistic in _table(statistics) for statistics in features.values()
        ):
            yield f"The statistic {statistic} is not reported for any feature."
    for feature, statistics in features.items():
        for statistic, rows in _table(statistics).items():
            wanted = (*sites, _GLOBAL)
            if statistic == _NO_DIGEST and not any(find_numbers(rows)):
                wanted = tuple(sites)
            for site in wanted:
                row = _table(rows).get(site)
                by = {"MinCount", "HistogramBins"} if statistic == "histogram" else {"MinCount"}
                if not row and any((site, cleanser, feature) in withheld for cleanser in by):
                    continue
                if row is None or (not row and statistic != _NO_DIGEST):
                    yield f"The statistic {statistic} of {feature[:100]} is not reported for {site}."
                if not all(map(math.isfinite, find_numbers(row))):
                    yield f"The statistic {statistic} of {feature[:100]} is not finite for {site}."
            if statistic in _ADD_UP:
                *of_sites, of_all = (sum(find_numbers(_table(rows).get(site))) for site in (*sites, _GLOBAL))
                if abs(sum(of_sites) - of_all) > _ADD_UP[statistic] * sum(map(abs, of_sites)):
                    yield f"The {statistic}s of {feature[:100]} add up to {sum(of_sites)}, not to {of_all}."
                if statistic == "count" and not of_all:
                    yield f"No site has a value of {feature[:100]}: its count is 0."


def _doubtful(features: dict[str, Any], sites: list[str]) -> Iterator[str]:
    """Yield which site's figures are all 0, or another's; counts may be the same."""
    seen: dict[tuple[float, ...], str] = {}
    found = [(name, rows) for of in features.values() for name, rows in _table(of).items()]
    for site in sites:
        figures = tuple(find_numbers([_table(rows).get(site) for name, rows in found if name != "count"]))
        if figures and not any(figures):
            yield f"{site} reports nothing but zeros."
        twin = seen.setdefault(figures, site)
        if twin != site and not all(float(number).is_integer() for number in figures):
            yield f"{site} reports the figures of {twin}, to the last digit."


@register_claim(
    holds="Every announced site has the same Kaplan-Meier curve, from 1 down and never up, or below 0."
)
def survival_curves_fall(run: Run, options: Options) -> Result:
    sites, first = run.account.sites, None
    if not sites:
        return unknown("The expected sites are unknown.")
    for site in sites:
        at, content = _json(run.workspace, site, "km_global.json")
        if at is None:
            return fails(f"{site} has no curve.")
        first = content if first is None else first
        if content != first:
            return fails(f"{site}'s curve is another than {sites[0]}'s.", at)
    curve = list(find_numbers(_table(first).get("km_estimate")))
    times = list(find_numbers(_table(first).get("timeline")))
    falls = all(0 <= after <= before <= 1 for before, after in pairwise(curve))
    if len(curve) < 2 or len(times) != len(curve):
        return fails("The curve has no points.", at)
    if curve[0] != 1 or not falls or curve[-1] == 1 or times != sorted(times):
        return fails(f"The curve, from {curve[0]} to {curve[-1]}, does not fall from 1 and stay above 0.", at)
    return holds(f"{len(sites)} sites have one curve of {len(curve)} points, from 1 to {curve[-1]:.3g}.", at)


@register_claim(
    holds="Flower's server had a result of every announced site in each of its rounds, and its losses moved."
)
def flower_results_received(run: Run, options: Options) -> Result:
    sites, member = run.account.sites, run.workspace.members.get(SERVER)
    name = _named(member, "superlink_log.txt")
    if member is None or name is None or not sites:
        return unknown("No log of Flower's server is there, or the sites are unknown.")
    text, at = (member.read(name) or b"").decode("utf-8", "replace"), member.path(name)
    received = [tuple(map(int, match.groups())) for match in _RECEIVED.finditer(text)]
    for number, (results, failures) in enumerate(received, 1):
        if results != len(sites) or failures:
            message = (
                f"Flower's round {number} had {results} results and {failures} failures "
                f"of {len(sites)} sites."
            )
            return fails(message, at)
    done = _FLOWER_DONE.search(text)
    if done is None or int(done[1]) != len(received) or not received:
        message = f"Flower's server had results of {len(received)} rounds of {done[1] if done else '?'}."
        return (fails if done else unknown)(message, at)
    losses = _flower_losses(text[done.end() :])
    for name, values in losses.items():
        if not all(map(math.isfinite, values)):
            return fails(f"Flower's {name} is not finite: {values[-1]}.", at)
        if len(values) > 1 and values[0] and max(values) - min(values) <= _STILL * abs(values[0]):
            message = f"Flower's {name} is {values[0]:g} in all {len(values)} rounds: nothing shows training."
            return unknown(message, at)
    moved = f", and {', '.join(losses)} moved" if losses else ""
    return holds(f"Flower's {len(received)} rounds each had results of all {len(sites)} sites{moved}.", at)


def _flower_losses(history: str) -> dict[str, list[float]]:
    history = _FLOWER_PREFIX.sub("", history)
    series = dict(_FLOWER_SERIES.findall(history))
    series |= {f"loss, {kind}": rows for kind, rows in _FLOWER_LOSS.findall(history)}
    return {
        name: [_float(a or b) for a, b in _FLOWER_POINT.findall(points)]
        for name, points in series.items()
        if "loss" in name.lower()
    }


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _json(workspace: Workspace, name: str, ending: str) -> tuple[Path | None, Any]:
    """Return where the first file of ``name`` with that ending is, and its content; None if it is no JSON."""
    member = workspace.members.get(name)
    file = _named(member, ending)
    if member is None or file is None:
        return None, None
    try:
        return member.path(file), json.loads(member.read(file) or b"")
    except (ValueError, RecursionError):
        return member.path(file), None


def _named(member: Member | None, ending: str) -> str | None:
    return (
        next((name for name in member.sizes if f"/{name}".endswith(f"/{ending}")), None) if member else None
    )


def _table(of: Any) -> dict[str, Any]:
    return of if isinstance(of, dict) else {}


def find_numbers(nested: object) -> Iterator[float]:
    """Yield the numbers in what JSON holds, in their order; NaN in place of implausible ones."""
    left = [nested]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left.extend(reversed(item.values()))
        elif isinstance(item, list):
            left.extend(reversed(item))
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield item if abs(item) < _LARGEST else math.nan
