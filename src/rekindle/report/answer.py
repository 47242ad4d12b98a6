# SPDX-License-Identifier: Apache-2.0
"""A run's answer for a terminal: how many hosts are proven, each cause once, what passed by job."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from rekindle.judge.figures import is_loss, is_score
from rekindle.records.text import fold_line, format_duration, list_few, shorten_text
from rekindle.results.causes import NO_FAILURE, Cause, find_standing, group_causes, quote_failure, rank_kind
from rekindle.results.contents import NO_HOSTS, Results
from rekindle.results.folds import fold_rows
from rekindle.results.joints import is_joint, list_joints
from rekindle.results.row import Row, RowKind

from .spark import draw_spark
from .steps import Step, find_next_steps
from .table import colour_verdict, format_below, format_grid, format_head

SMALL = 12
"""Rows of a result of which each is shown."""
_SHARES = {"host": 0.16, "job": 0.25, "verdict": 1.0, "duration": 1.0, "GPUs": 0.13}
_FOLDED = {"job": 0.3, "verdict": 1.0, "hosts": 1.0, "fastest": 1.0, "median": 1.0, "slowest": 0.3}
_LINES, _NAMED = 70, 8
"""Lines after which a cause has one, and names before the rest are counted."""


def summarise_answer(results: Results) -> str:
    """Return the answer in one sentence: ``37 of 40 hosts proven; 2 FAIL, 1 LOST.``"""
    hosts = [host for host in results.hosts if host.rows]
    if not hosts:
        return NO_HOSTS
    counted = [([find_standing(host.rows) for host in hosts if not is_joint(host.name)], "hosts")]
    for kind in list_joints():
        counted.append(
            ([row.kind for host in hosts if host.name == kind.folder for row in host.rows], kind.title)
        )
    return " ".join(_counts(kinds, what) for kinds, what in counted if kinds)


def _counts(kinds: Sequence[RowKind], what: str) -> str:
    counts = Counter(kinds)
    passed, total = counts.pop("PASS", 0), len(kinds)
    rest = ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts, key=rank_kind))
    return f"{passed} of {total} {what} proven{f'; {rest}' if rest else ''}."


def format_answer(results: Results, base: Path | None, width: int, colour: bool) -> str:
    """Return the answer, the causes, and the rest: each row of a small result, or a line a job.

    Args:
        results: of a run.
        base: its folder, for the commands that come next; None if there is none.
        width: of the terminal, 60 or more.
        colour: whether verdicts are coloured.
    """
    small = len(results.rows) <= SMALL
    found = group_causes(results.rows)
    paragraphs, lines = [summarise_answer(results)], 0
    steps = find_next_steps(found, results.playbook, base) if base else [None] * len(found)
    for number, (cause, step) in enumerate(zip(found, steps, strict=True)):
        if not small and lines > _LINES:
            paragraphs.append("\n".join(format_brief(found[number:], width, colour)))
            break
        paragraph = "\n".join(_paragraph(cause, step, width, colour))
        lines += paragraph.count("\n") + 2
        paragraphs.append(paragraph)
    if not results.rows:
        return paragraphs[0]
    paragraphs.append(_rows(results, width, colour) if small else _jobs(results, width, colour))
    return "\n\n".join(filter(None, paragraphs))


def _paragraph(cause: Cause, step: Step | None, width: int, colour: bool) -> Iterator[str]:
    layer = f" ({cause.layer})" if cause.layer else ""
    optional = "" if cause.required else ", not required"
    yield from format_head(cause.kind, f"{layer}{optional}: {fold_line(cause.message)}", width, colour)
    yield from format_below(describe_where(cause), width)
    if cause.remedy:
        yield from format_below(f"remedy: {f'{cause.action}: ' if cause.action else ''}{cause.remedy}", width)
    if place := quote_failure(cause.rows[0]):
        yield f"  seen: {fold_line(place.where)}"
        if place.text:
            yield shorten_text(f"    {fold_line(place.text)}", width)
    if step:
        yield f"  next: {step.typed_in(Path.cwd())}"


def format_brief(found: list[Cause], width: int, colour: bool) -> Iterator[str]:
    """Return a line a cause, for a bounded number."""
    for cause in found[:_NAMED]:
        rest = f": {len(cause.hosts)} on {fold_line(cause.hosts[0])} …: {fold_line(cause.message)}"
        yield colour_verdict(cause.kind, colour) + shorten_text(rest, width - len(cause.kind))
    if found[_NAMED:]:
        yield f"and {len(found) - _NAMED} more causes, which report.html has"


def describe_where(cause: Cause) -> str:
    """Return jobs and hosts: ``pt_ddp, llm_sft on 10 hosts: gpu-1, gpu-2 and 8 more``."""
    count = f"{len(cause.hosts)} hosts: " if len(cause.hosts) > 1 else ""
    return " ".join(filter(None, (", ".join(cause.jobs), f"on {count}{list_few(cause.hosts)}")))


def _rows(results: Results, width: int, colour: bool) -> str:
    rows = [
        {
            "host": row.host,
            "job": row.job or "–",
            "verdict": row.kind,
            "note": (row.remark or _proof(row)) if row.kind in NO_FAILURE and not row.notice else "above",
            "duration": format_duration(row.duration_s),
            "GPUs": row.gpus,
        }
        for row in results.rows
    ]
    return format_grid(rows, _SHARES, width, colour)


def _proof(row: Row) -> str:
    """Return what a verdict rests on: ``█▄▁ loss 2.17 → 0.0124, 43 checks``.

    Where ranks recorded no loss, it is the first that sites reported, or else the first score.
    """
    rounds = row.verdict.rounds if row.verdict else ()
    course = _course("loss", ((one.round, one.loss) for one in rounds))
    names = list(dict.fromkeys(name for one in rounds for name in one.metrics))
    for name in [*filter(is_loss, names), *filter(is_score, names)]:
        course = course or _course(name, ((one.round, one.metrics.get(name)) for one in rounds))
    return ", ".join(filter(None, (course, _checks([row]))))


def _course(name: str, figures: Iterable[tuple[int, float | None]]) -> str:
    """Return how the mean of the sites' figures goes, by round; nothing of a single one."""
    of_rounds: dict[int, list[float]] = {}
    for number, value in figures:
        if value is not None:
            of_rounds.setdefault(number, []).append(value)
    means = [fmean(of) for _, of in sorted(of_rounds.items())]
    return f"{draw_spark(means)} {name} {means[0]:.3g} → {means[-1]:.3g}" if means[1:] else ""


def _checks(rows: Sequence[Row]) -> str:
    """Return how many checks there were of each run."""
    counts = sorted({len(row.verdict.evidence) for row in rows if row.verdict})
    return f"{' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} checks" if counts else ""


def _jobs(results: Results, width: int, colour: bool) -> str:
    """Return what did not fail, a line for each job and kind."""
    rows = [
        {
            "job": of.job or "–",
            "verdict": of.kind,
            "hosts": str(len(of.rows)),
            **dict(zip(("fastest", "median", "slowest"), of.times, strict=True)),
            "note": of.note or _checks(of.rows),
        }
        for of in fold_rows(results.rows)
    ]
    return format_grid(rows, _FOLDED, width, colour)
