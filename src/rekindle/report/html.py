# SPDX-License-Identifier: Apache-2.0
"""``report.html`` of all hosts and of each: without any other file; every text is cleaned and escaped."""

import base64
import hashlib
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rekindle.host import folders
from rekindle.records import VerdictRecord
from rekindle.records.text import clean_text, format_duration
from rekindle.results.causes import find_standing, group_causes, quote_failure
from rekindle.results.contents import HostResults, Results
from rekindle.results.folds import fold_rows

from . import plot as axes
from . import strip as lane
from .answer import summarise_answer
from .matrix import make_matrix
from .plot import Plot, make_plot
from .rounds import make_round_rows
from .steps import find_next_steps

_Y_LABELS = {"accuracy": "accuracy (fraction correct)"}
_FIGURES, _LINES = 12, 24
"""Metrics of a job, and sites of a figure."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("rekindle.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    environment.filters |= {"duration": format_duration, "name": _quoted, "path": partial(_quoted, safe="/")}
    return environment


@cache
def _script() -> dict[str, str]:
    """Return the page's only script, and the digest by which its policy knows it."""
    text = files("rekindle.report").joinpath("matrix.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"text": Markup(text), "digest": f"sha256-{digest}"}


def render_page(results: Results) -> str:
    """Return the page of all hosts: the answer, the matrix, each cause once, and acceptance."""
    accepted, strips = results.accepted
    found = group_causes(results.rows)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            results=results,
            answer=summarise_answer(results),
            matrix=make_matrix(results),
            causes=list(zip(found, find_next_steps(found, results.playbook, Path()), strict=True)),
            cited=quote_failure,
            folds=fold_rows(results.rows),
            accepted=accepted,
            strips=[lane.draw_strip(strip) for strip in strips],
            lane=lane,
            script=_script(),
        )
    )


def render_host_page(results: Results, host: HostResults) -> str:
    """Return the page of one host, which lies in its folder."""
    return (
        _environment()
        .get_template("host.html.j2")
        .render(
            run=results.playbook.run,
            result=host,
            kind=find_standing(host.rows) if host.rows else None,
            plots=make_plots,
            rounds=make_round_rows if host.name == folders.FEDERATIONS else None,
            axes=axes,
            cited=quote_failure,
        )
    )


def _quoted(text: str, safe: str = "") -> str:
    """Return a name, or with ``safe`` a path, as part of a relative address."""
    return quote(text, safe=safe, errors="replace")


def _clean(value: Any) -> Any:
    """Clean an expression's value, of any type, before it is escaped; a macro's Markup is clean already."""
    return value if isinstance(value, Markup) else clean_text(str(value))


def make_plots(verdict: VerdictRecord) -> list[Plot]:
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
    figures = [make_plot("Training loss of each site", "round", "mean loss (no unit)", losses)]
    for metric, values in metrics.items():
        if metric in verdict.final_metrics:
            values["final model"] = [(last, verdict.final_metrics[metric])]
        label = _Y_LABELS.get(metric, metric)
        figures.append(
            make_plot(f"Held-out {metric} of the global model", "rounds aggregated", label, values)
        )
    return [figure for figure in figures if figure]
