"""``report.html``: one self-contained file; everything that came from a host is escaped."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from rekindle.records import VerdictRecord

from . import plot as axes
from .gather import Results
from .plot import Plot, plot
from .text import clean, duration

_Y_LABELS = {"accuracy": "accuracy (fraction correct)"}
_FIGURES, _LINES = 12, 24
"""Metrics of a job, and sites of a figure."""


def html(results: Results) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("rekindle.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["duration"] = duration
    page = environment.get_template("report.html.j2").render(results=results, plots=plots, axes=axes)
    return clean(page)


def plots(verdict: VerdictRecord) -> list[Plot]:
    """Lay out loss, and each metric, by round with one line a site, no more than a person tells apart."""
    sites = set(list(dict.fromkeys(one.site for one in verdict.rounds))[:_LINES])
    losses: dict[str, list[tuple[int, float]]] = {}
    metrics: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for one in verdict.rounds:
        if one.site in sites and one.loss is not None:
            losses.setdefault(one.site, []).append((one.round + 1, one.loss))
        for metric, value in one.metrics.items() if one.site in sites else ():
            if metric in metrics or len(metrics) < _FIGURES:
                # What a site receives in round n has been aggregated n times.
                metrics.setdefault(metric, {}).setdefault(one.site, []).append((one.round, value))
    last = max((one.round for one in verdict.rounds), default=0) + 1
    found = [plot("Training loss of each site", "round", "mean loss (no unit)", losses)]
    for metric, values in metrics.items():
        if metric in verdict.final_metrics:
            values["final model"] = [(last, verdict.final_metrics[metric])]
        label = _Y_LABELS.get(metric, metric)
        found.append(plot(f"Held-out {metric} of the global model", "rounds aggregated", label, values))
    return [one for one in found if one]
