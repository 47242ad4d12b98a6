"""The table that a run ends with on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .gather import Results, Row
from .text import clean, duration

_STYLES = {"PASS": "green", "FAIL": "red", "HUNG": "red"}


def table(results: Results, width: int, colour: bool) -> str:
    """Return the results as a table of at most ``width`` columns."""
    grid = Table(show_edge=False, pad_edge=False)
    for name in ("host", "job", "verdict", "cause", "duration", "GPUs"):
        grid.add_column(name, overflow="fold", ratio=1 if name == "cause" else None)
    for row in results.rows:
        took = duration(row.verdict.duration_s if row.verdict else None)
        cells = [row.host, row.job or "–", row.kind, row.cause or "", took, _gpus(row)]
        texts = [Text(clean(cell)) for cell in cells]
        texts[2].stylize(_STYLES.get(row.kind, "yellow"))
        grid.add_row(*texts)
    console = Console(width=width, force_terminal=colour, no_color=not colour, legacy_windows=False)
    with console.capture() as capture:
        console.print(grid)
    return capture.get().rstrip("\n")


def _gpus(row: Row) -> str:
    if row.verdict is None or not row.verdict.devices:
        return "–"
    names = {device.uuid: device.name or "GPU" for device in row.verdict.devices if device.uuid}
    kinds = sorted(set(names.values()))
    return ", ".join(f"{list(names.values()).count(kind)} × {kind}" for kind in kinds) or "CPU"
