# SPDX-License-Identifier: Apache-2.0
"""Write README's pictures: a terminal's answer and a run's page, of recorded runs, in light and dark.

PYTHONPATH=src:tests:tests/unit .venv/bin/python scripts/write_pictures.py

It needs Chromium.
"""

import contextlib
import io
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, MONOKAI
from rich.text import Text

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
LIMIT = 150_000
"""Bytes of one picture."""
_COLUMNS = 110
_THEMES = {"light": DEFAULT_TERMINAL_THEME, "dark": MONOKAI}
_HTML = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 16px 20px; background: {background}; color: {foreground}; }}
pre {{ margin: 0; font: 12px/1.4 "DejaVu Sans Mono", monospace; }}
</style><pre>{code}</pre>"""


def main() -> None:
    """Make the results folders in a temporary one, and take the pictures."""
    if not (chromium := shutil.which("chromium")):
        raise SystemExit("Chromium is not here, and takes the pictures. Fix: apt install chromium.")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):  # what is shown names no other folder
        few, many = (Path("results", name) for name in ("20261121T020000Z", "20261121T030000Z"))
        for folder, hosts in ((few, 8), (many, 40)):
            folder.mkdir(parents=True)
            subprocess.run([sys.executable, "-m", "many_hosts", folder, str(hosts)], check=True)
        asked = many / "run.json"
        asked.write_text(asked.read_text(encoding="utf-8").replace(home, "/srv/fleet"), encoding="utf-8")
        _print_answer(many)  # which writes its pages
        lines = [f"$ rekindle report {few}", "", *_print_answer(few)[:-3]]
        if home in "".join([*lines, (many / "report.html").read_text(encoding="utf-8")]):
            raise SystemExit(f"The pictures name {home}, a folder of this machine.")
        for scheme in _THEMES:
            terminal = Path(f"{scheme}.html")
            terminal.write_text(_render_terminal("\n".join(lines), scheme), encoding="utf-8")
            size = (round(_COLUMNS * 7.23) + 70, 32 + round(16.8 * len(lines)))
            _photograph(chromium, terminal, f"answer-{scheme}.png", scheme, size)
            _photograph(chromium, many / "report.html", f"page-{scheme}.png", scheme, (1100, 560))


def _print_answer(folder: Path) -> list[str]:
    """Return what ``rekindle report`` prints on a terminal with colours."""
    command = [str(Path(sys.executable).with_name("rekindle")), "report", str(folder)]
    environ = {**os.environ, "COLUMNS": str(_COLUMNS), "TERM": "xterm-256color"}
    environ.pop("NO_COLOR", None)
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=environ, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        printed = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return printed.decode().replace("\r", "").rstrip().splitlines()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end closed it
        return b""


def _render_terminal(text: str, scheme: str) -> str:
    console = Console(record=True, width=_COLUMNS + 20, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text), soft_wrap=True)
    return console.export_html(theme=_THEMES[scheme], inline_styles=True, code_format=_HTML)


def _photograph(chromium: str, page: Path, name: str, scheme: str, size: tuple[int, int]) -> None:
    """Write a picture of a page.

    Raises:
        SystemExit: it is larger than what README may load.
    """
    dark = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *dark]
    path = PICTURES / name
    shot = [f"--window-size={size[0]},{size[1]}", f"--screenshot={path}", page.absolute().as_uri()]
    subprocess.run([chromium, *quiet, *shot], check=True, capture_output=True, timeout=120)
    if path.stat().st_size > LIMIT:
        raise SystemExit(f"{path} has {path.stat().st_size} bytes, and README loads {LIMIT} at most.")


if __name__ == "__main__":
    main()
