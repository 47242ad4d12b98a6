# SPDX-License-Identifier: Apache-2.0
"""Tables on the terminal."""

import os
import shutil
import sys
import textwrap

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from rekindle.records.text import fold_line

_STYLES = {"PASS": "green", "FAIL": "red", "HUNG": "red", "LOST": "red", "READY": "green", "RETIRED": "green"}
_WIDE, _WIDE_ONLY = 80, ("since", "duration", "GPUs")


def measure_terminal() -> tuple[int, bool]:
    """Return the terminal's width, 60 or more, and whether to use colours."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return max(shutil.get_terminal_size((120, 24)).columns, 60), colour


def can_redraw() -> bool:
    """Whether the terminal lets a program redraw."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in {"", "dumb", "unknown"}


def colour_verdict(kind: str, colour: bool) -> str:
    """Return a verdict in its colour."""
    return Style.parse(_STYLES.get(kind, "yellow")).render(kind) if colour else kind


def format_head(kind: str, text: str, width: int, colour: bool) -> list[str]:
    """Return the lines of a verdict with what is said of it, ``text`` from the first space or comma on."""
    head = f"{kind}{', but' if kind == 'PASS' else ''}{text}"
    first, *more = textwrap.wrap(head, width, subsequent_indent="  ")
    return [colour_verdict(kind, colour) + first.removeprefix(kind), *more]


def format_below(text: str, width: int) -> list[str]:
    """Return the lines of a text that stands below such a head."""
    return textwrap.wrap(f"  {fold_line(text)}", width, subsequent_indent="    ")


def format_grid(rows: list[dict[str, str]], shares: dict[str, float], width: int, colour: bool) -> str:
    """Return a table of at most ``width`` columns, 60 or more; some need 80. Nothing without rows.

    Args:
        rows: cells by column, each made one line.
        shares: largest share of the width by column; the column without one takes the rest.
        width: of the terminal.
        colour: whether verdicts are coloured.
    """
    if not rows:
        return ""
    left_out = _WIDE_ONLY if width < _WIDE else ()
    rows = [{name: fold_line(cell) for name, cell in row.items() if name not in left_out} for row in rows]
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
    for name in rows[0]:
        if name in shares:
            grid.add_column(name, overflow="fold", max_width=max(int(width * shares[name]), 8))
        else:
            grid.add_column(name, overflow="fold", ratio=1)
    for row in rows:
        cells = {name: Text(cell) for name, cell in row.items()}
        if "verdict" in cells:
            cells["verdict"].stylize(_STYLES.get(row["verdict"], "yellow"))
        grid.add_row(*cells.values())
    console = Console(width=width, force_terminal=colour, no_color=not colour, legacy_windows=False)
    with console.capture() as capture:
        console.print(grid)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
