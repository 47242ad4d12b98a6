"""``report.html``: one self-contained file; every text in it is cleaned and escaped."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rekindle.records import VerdictRecord
from rekindle.records.text import clean, duration
from rekindle.results.gather import NO_HOSTS, Results

from . import plot as axes
from . import strip as lane
from .plot import Plot, plot

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
        finalize=_clean,
    )
    environment.filters["duration"] = duration
    accepted, strips = results.accepted
    return environment.get_template("report.html.j2").render(
        results=results,
        plots=plots,
        axes=axes,
        no_hosts=NO_HOSTS,
        accepted=accepted,
        strips=[lane.drawn(strip) for strip in strips],
        lane=lane,
    )


def _clean(value: Any) -> Any:
    """Clean an expression's value before it is escaped; a macro's Markup is clean already."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def plots(verdict: VerdictRecord) -> list[Plot]:
    """Lay out loss and metrics by round, with one line a site, for a bounded number of each."""
    sites = set(list(dict.fromkeys(job_round.site for job_round in verdict.rounds))[:_LINES])
    losses: dict[str, list[tuple[int, float]]] = {}
    metrics: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for job_round in verdict.rounds:
        if job_round.site in sites and job_round.loss is not None:
            losses.setdefault(job_round.site, []).append((job_round.round + 1, job_round.loss))
        for metric, value in job_round.metrics.items() if job_round.site in sites else ():
            if metric in metrics or len(metrics) < _FIGURES:
                # The model of round n has been aggregated n times.
                metrics.setdefault(metric, {}).setdefault(job_round.site, []).append((job_round.round, value))
    last = max((job_round.round for job_round in verdict.rounds), default=0) + 1
    figures = [plot("Training loss of each site", "round", "mean loss (no unit)", losses)]
    for metric, values in metrics.items():
        if metric in verdict.final_metrics:
            values["final model"] = [(last, verdict.final_metrics[metric])]
        label = _Y_LABELS.get(metric, metric)
        figures.append(plot(f"Held-out {metric} of the global model", "rounds aggregated", label, values))
    return [figure for figure in figures if figure]
