# SPDX-License-Identifier: Apache-2.0
"""The whole board as a table, for a terminal and in Markdown."""

import html
import re

from rekindle.records.text import fold_line, format_duration
from rekindle.results.board import Board, BoardLine
from rekindle.results.row import format_minute

from .digest import NOTHING
from .table import format_grid

_SHARES = {"job": 0.15, "where": 0.25, "verdict": 1.0, "since": 0.1, "duration": 1.0}
_MEANING = re.compile(r"[\\`*_~\[\]{}#$|]|(?<=www)\.|:(?=//)")
"""Markup of Markdown and its dialects, apart from HTML's."""


def format_board(board: Board, width: int, colour: bool) -> str:
    """Return it for a terminal, at most ``width`` columns wide."""
    rows = []
    for line in board.lines:
        job, host, environment, nvflare, *rest = _cells(line)
        where = ", ".join([host, environment, f"NVFlare {nvflare}"])
        rows.append(dict(zip([*_SHARES, "what"], [job, where, *rest], strict=True)))
    table = format_grid(rows, _SHARES, width, colour) or NOTHING
    return "\n".join([table, *map(fold_line, board.unread)])


def format_markdown(board: Board) -> str:
    """Return it as a table for a wiki, with hosts' texts escaped."""
    rows = [["job", "host", "environment", "NVFlare", "verdict", "since", "duration", "what"], ["---"] * 8]
    for line in board.lines:
        cells = [escape_markdown(cell) for cell in _cells(line)]
        if line.source and line.source.startswith("https://"):
            cells[-1] = cells[-1].replace(escape_markdown(line.source), line.source)
        cells[4] = f"**{cells[4]}**" if line.notice else cells[4]
        rows.append(cells)
    table = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*table, *(f"\n{escape_markdown(reason)}" for reason in board.unread)])


def escape_markdown(text: str) -> str:
    """Return a text as one line, escaped for Markdown."""
    return _MEANING.sub(r"\\\g<0>", html.escape(fold_line(text), quote=False))


def _cells(line: BoardLine) -> list[str]:
    """Return job, host, environment, NVFlare, verdict, since when, duration and notes."""
    environment = " ".join(filter(None, (line.framework, line.version, line.build)))
    nvflare = (line.nvflare or "–") + (f" (examples {line.examples})" if line.examples else "")
    notes = [line.notice, line.cause]
    if line.verdict == "KNOWN_ISSUE":
        until = f"{'until' if line.good else 'expired on'} {line.expires}: {line.source}"
        notes.append(f"Known issue {line.known_issue}, {until if line.expires else 'no longer listed'}.")
    notes += [f"Changed: {'; '.join(line.changed)}."] if line.changed else []
    cells = [line.job or "–", line.host, environment or "–", nvflare, line.verdict + "!" * bool(line.notice)]
    cells += [
        format_minute(line.since),
        format_duration(line.duration_s),
        " ".join(filter(None, notes)),
    ]
    return cells
