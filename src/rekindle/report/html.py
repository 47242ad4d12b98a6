"""``report.html``: one self-contained file; everything that came from a host is escaped."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from rekindle.records import VerdictRecord

from . import plot as axes
from .gather import Results
from .plot import Plot, plot
from .text import clean, duration

_Y_LABELS = {"accuracy": "accuracy (fraction correct)"}


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
    """Lay out loss, and each metric, by round with one line a site."""
    sites = list(dict.fromkeys(one.site for one in verdict.rounds))
    metrics = list(dict.fromkeys(name for one in verdict.rounds for name in one.metrics))
    losses: dict[str, list[tuple[int, float]]] = {
        site: [
            (one.round + 1, one.loss) for one in verdict.rounds if one.site == site and one.loss is not None
        ]
        for site in sites
    }
    found = [plot("Training loss of each site", "round", "mean loss (no unit)", losses)]
    for metric in metrics:
        # What a site receives in round n has been aggregated n times.
        values: dict[str, list[tuple[int, float]]] = {
            site: [
                (one.round, one.metrics[metric])
                for one in verdict.rounds
                if one.site == site and metric in one.metrics
            ]
            for site in sites
        }
        if metric in verdict.final_metrics:
            last = max(one.round for one in verdict.rounds) + 1
            values["final model"] = [(last, verdict.final_metrics[metric])]
        label = _Y_LABELS.get(metric, metric)
        found.append(plot(f"Held-out {metric} of the global model", "rounds aggregated", label, values))
    return [one for one in found if one]
