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

from rekindle.fabric.judgement import judge_fabric
from rekindle.host.instances import name_place
from rekindle.records import VerdictRecord
from rekindle.records.text import clean_text, format_duration
from rekindle.results.causes import find_standing, group_causes, quote_failure
from rekindle.results.contents import HostResults, Results
from rekindle.results.folds import fold_rows
from rekindle.results.joints import is_joint
from rekindle.results.row import Row
from rekindle.results.timeline import SAMPLES, read_timeline

from . import lanes
from . import plot as axes
from . import strip as band
from .answer import summarise_answer
from .checks import count_checks, group_checks
from .fabric import draw_heat_map
from .figures import describe_same, group_points, make_figures
from .matrix import choose_letter, make_fleet
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
def _our(name: str) -> str:
    return files("rekindle.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _script() -> dict[str, str]:
    """Return the page's only script, and the digest by which its policy knows it."""
    text = _our("page.js")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"text": Markup(text), "digest": f"sha256-{digest}"}


def render_template(name: str, **values: Any) -> str:
    """Return a page by its template; each value is cleaned and escaped."""
    return (
        _environment()
        .get_template(name)
        .render(quote_failure=quote_failure, style=Markup(_our("page.css")), **values)
    )


class Pages:
    """The pages of a results folder."""

    def __init__(self, results: Results) -> None:
        """Take what was gathered."""
        self._results = results
        self._accepted, self._strips = results.accepted
        self._judged = {of.host: of for of in self._accepted.hosts}
        self._points = group_points(self._strips)

    def render_all(self) -> str:
        """Return the page of all hosts: the answer, each cause once, what is not proven, or the only host."""
        results = self._results
        found = group_causes(results.rows)
        steps = find_next_steps(found, results.playbook, Path())
        folders_of_steps = {step.folder for step in steps if step and step.folder}
        only = results.hosts[0] if len(results.hosts) == 1 else None
        return render_template(
            "report.html.j2",
            results=results,
            answer=summarise_answer(results),
            fleet=make_fleet(results),
            choose_letter=choose_letter,
            causes=list(zip(found, steps, strict=True)),
            folder=folders_of_steps.pop() if len(folders_of_steps) == 1 else "",
            folds=fold_rows(results.rows),
            accepted=self._accepted,
            strips=[band.draw_strip(strip) for strip in self._strips if strip.varies],
            same=list(dict.fromkeys(describe_same(strip) for strip in self._strips if not strip.varies)),
            kinds=list(dict.fromkeys(strip.of for strip in self._strips)),
            band=band,
            fabrics=[(of.host, judge_fabric(of), draw_heat_map(of)) for of in results.fabrics],
            only=only,
            script=_script(),
            **(self._body(only, "") if only else {}),
        )

    def render_host(self, host: HostResults) -> str:
        """Return the page of one host, which lies in its folder."""
        kind = find_standing(host.rows) if host.rows else None
        run = self._results.playbook.run
        return render_template("host.html.j2", run=run, kind=kind, **self._body(host, "../"))

    def _body(self, host: HostResults, up: str) -> dict[str, Any]:
        return {
            "result": host,
            "up": up,
            "inline": not up,
            "alone": sum(row.verdict is not None for row in host.rows) == 1,
            "make_plots": make_plots,
            "axes": axes,
            "timeline": partial(_lanes, host),
            "lane": lanes,
            "most_samples": SAMPLES,
            "make_round_rows": make_round_rows if is_joint(host.name) else None,
            "group_checks": group_checks,
            "count_checks": count_checks,
            "judgement": self._judged.get(host.name),
            "figures": make_figures(host.acceptance, self._points.get(host.name, ()))
            if host.acceptance
            else None,
        }


def _lanes(host: HostResults, row: Row) -> lanes.LaneDrawing | None:
    """Return the lanes of a run, with its GPUs as the host numbers them."""
    found = read_timeline(row.home, row.verdict) if row.home and row.verdict else None
    if found is None:
        return None
    gpus = host.host.gpus if host.host else ()
    names = {gpu.uuid: name_place(gpu.index, gpu.uuid) for gpu in gpus if gpu.uuid}
    return lanes.draw_lanes(found, names)


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
