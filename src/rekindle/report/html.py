"""``report.html``: one self-contained file; everything that came from a host is escaped."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from rekindle.records import VerdictRecord

from .gather import Results
from .plot import HEIGHT, WIDTH, Plot, plot
from .text import clean, duration


def html(results: Results) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("rekindle.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["duration"] = duration
    template = environment.get_template("report.html.j2")
    return clean(template.render(results=results, plots=_plots, width=WIDTH, height=HEIGHT))


def _plots(verdict: VerdictRecord) -> list[Plot]:
    """Loss, and each metric, by round with one line a site."""
    sites = sorted({one.site for one in verdict.rounds})
    metrics = sorted({name for one in verdict.rounds for name in one.metrics})
    losses = {
        site: [(one.round, one.loss) for one in verdict.rounds if one.site == site and one.loss is not None]
        for site in sites
    }
    plots = [plot("training loss", losses)]
    for metric in metrics:
        values = {
            site: [
                (one.round, one.metrics[metric])
                for one in verdict.rounds
                if one.site == site and metric in one.metrics
            ]
            for site in sites
        }
        plots.append(plot(f"{metric} of the global model as received", values))
    return [one for one in plots if one is not None]
