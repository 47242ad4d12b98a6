"""The table that a run ends with on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .gather import Results
from .text import duration, one_line

_STYLES = {"PASS": "green", "FAIL": "red", "HUNG": "red"}


def table(results: Results, width: int, colour: bool) -> str:
    """Return the results as a table of at most ``width`` columns."""
    if not results.rows:
        return "The run had no hosts. Fix: put hosts in the inventory."
    grid = Table(show_edge=False, pad_edge=False)
    grid.add_column("host", overflow="fold", min_width=8)
    grid.add_column("job", overflow="fold", min_width=7)
    grid.add_column("verdict", no_wrap=True, min_width=max(len(row.kind) for row in results.rows))
    grid.add_column("cause", overflow="fold", ratio=1, min_width=24)
    grid.add_column("duration", overflow="fold")
    grid.add_column("GPUs", overflow="fold")
    for row in results.rows:
        style = _STYLES.get(row.kind, "yellow")
        cells = [row.host, row.job or "–", row.kind, row.cause or "", duration(row.duration_s), row.gpus]
        texts = [Text(one_line(cell)) for cell in cells]
        texts[2].stylize(style)
        grid.add_row(*texts)
    console = Console(width=width, force_terminal=colour, no_color=not colour, legacy_windows=False)
    with console.capture() as capture:
        console.print(grid)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
