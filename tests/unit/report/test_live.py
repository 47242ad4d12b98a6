# SPDX-License-Identifier: Apache-2.0
"""The live view inside a run, on a terminal that the test makes; what is written there is read."""

import io
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import ansible.release
import psutil
import pytest
from ansible import constants, context
from ansible.utils.display import Display
from callback_plays import PREFLIGHT, latest, make_repository, rows
from samples.folders import fill

from rekindle.actions.live import is_live_wanted
from rekindle.records.text import ERASE
from rekindle.report.table import can_redraw
from rekindle.results.journal import keep_playing

ON_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
DRAW = "from rekindle.report import live; live.main()"
PLAYBOOK = str(Path(sys.executable).with_name("ansible-playbook"))
TABLE = re.compile(r"\x1b\[J((?:(?!\x1b\[J).)+?)\x1b\[(\d+)A", re.DOTALL)
"""Its lines, and by how many the cursor goes up again."""
WAITS = "- ansible.builtin.raw: timeout 30 sh -c 'until [ -e SEEN ]; do sleep 0.1; done'\n"
SLEEPS = "- {ansible.builtin.raw: 'true'}\n- {ansible.builtin.raw: sleep 4}\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = make_repository(tmp_path_factory.mktemp("repository"))
    (folder / "roles/collect/tasks/main.yml").write_text(SLEEPS)
    waits = WAITS.replace("SEEN", str(folder / "seen"))
    (folder / "roles/preflight/tasks/main.yml").write_text(PREFLIGHT + waits)
    return folder


def on_terminal(*command, cwd, then=lambda process: None, when="preflight  ", shell='exec "$@"', **environ):
    """Return what a command writes on a terminal of 100 by 24; ``then`` is done once ``when`` is there."""
    kept = {name: value for name, value in psutil.Process().environ().items() if name != "NO_COLOR"}
    size = {"COLUMNS": "100", "LINES": "24", "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL, "sh", "-c", shell, "sh", *command],
        cwd=cwd,
        env={**kept, **size, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    written, done = b"", False
    while read := process.stdout.read1():
        written += read
        if not done and when in written.decode(errors="replace"):
            done = not then(process)
    process.wait()
    return written.decode()


def plain(written):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)


def view_on(process):
    """Return the view that draws on a test's terminal."""
    (view,) = (
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "live.main" in " ".join(child.cmdline())
    )
    return view


def test_the_hosts_are_one_table_failures_stay_and_the_answer_is_last(repository):
    site = (PLAYBOOK, "site.yml", "-i", "inventory.yml")
    written = on_terminal(*site, cwd=repository, then=lambda _: (repository / "seen").touch())
    before, *during, after = map(plain, written.split(ERASE))
    assert "TASK [rekindle.flare.preflight" in before
    assert any(re.match(r"0 of 7 hosts proven; .*\d RUNNING", part) for part in during)
    said = "".join(during)
    assert "bad failed at preflight: no room\r\n" in said
    assert "lost unreachable at preflight: Failed to connect to the host via ssh" in said
    assert any(part.startswith("late failed at validate: No payload.\r\n") for part in during)
    assert not re.search(r"TASK|RECAP|ok: |folder=", said + after)
    assert after.startswith("\r\n0 of 7 hosts proven; 7 SKIPPED.")
    assert rows(latest(repository / "results"))["bad"]["cause"].startswith("no room")


@pytest.mark.parametrize("option", ["-v", "--check"])
def test_who_wants_lines_gets_those_of_ansible(repository, option, tmp_path):
    named = ("-e", f"rekindle_results={tmp_path}/r", "-l", "good")
    written = on_terminal(
        PLAYBOOK, "playbooks/validate.yml", "-i", "inventory.yml", *named, option, cwd=repository
    )
    assert ERASE not in written
    assert "folder=" in written


@pytest.mark.parametrize(
    ("of", "name", "value"),
    [
        (Display(), "verbosity", 1),
        (constants, "DEFAULT_STDOUT_CALLBACK", "minimal"),
        (constants, "ENABLE_TASK_DEBUGGER", True),
        (context, "CLIARGS", {"step": True}),
        (ansible.release, "__version__", "2.18.1"),
        (os, "environ", {"NO_COLOR": "1", "TERM": "xterm"}),
        (os, "environ", {"TERM": "dumb"}),
        (os, "environ", {}),
        (sys, "stdout", io.StringIO()),
    ],
)
def test_each_of_these_leaves_the_lines(monkeypatch, of, name, value):
    good = ((sys.stdout, "isatty", lambda: True), (os, "environ", {"TERM": "xterm"}))
    right = ((constants, "DEFAULT_STDOUT_CALLBACK", "default"), (ansible.release, "__version__", "2.19.0"))
    for one in (*good, *right):
        monkeypatch.setattr(*one)
    assert can_redraw()
    assert is_live_wanted()
    monkeypatch.setattr(of, name, value)
    assert not (can_redraw() and is_live_wanted())


@pytest.fixture
def sleeping(repository, tmp_path):
    """Return a play on a terminal whose second task takes 4 s."""
    play = (PLAYBOOK, "playbooks/collect.yml", "-i", "inventory.yml", "-l", "good")
    return partial(on_terminal, *play, "-e", f"rekindle_results={tmp_path}/r", cwd=repository)


def test_ctrl_c_takes_the_table_away_and_says_where_the_results_are(sleeping, tmp_path):
    def interrupt(process):
        process.stdin.write(b"\x03")
        process.stdin.flush()

    *during, after = sleeping(then=interrupt).split(ERASE)
    assert any(plain(part).startswith("[ERROR]: User interrupted execution\r\n") for part in during), during
    assert "Traceback" not in "".join(during)
    assert plain(after).split("\r\n") == [
        *("", f"Interrupted. Results so far: {tmp_path}/r"),
        *("Jobs that have started continue on their hosts, and the same command follows them.", ""),
    ]


def test_a_playbook_that_is_killed_leaves_no_table_and_what_a_shell_says_in_its_place(sleeping):
    written = sleeping(
        then=lambda process: view_on(process).parent().kill(), shell='"$@"; sleep 4; echo Done.'
    )
    *_, last = TABLE.finditer(written)
    rest = written[last.end() :]
    assert rest.endswith(f"{ERASE}Done.\r\n")
    assert f"\r{ERASE}" not in rest


def test_without_its_view_a_playbook_goes_on_in_lines(sleeping):
    written = sleeping(then=lambda process: view_on(process).kill())
    assert "PLAY RECAP" in written.split(ERASE)[-1]


@pytest.mark.parametrize(
    ("count", "columns", "height"), [(3, 100, 6), (3, 40, 11), (200, 100, 23), (200, 40, 23)]
)
def test_it_stays_within_the_terminal_and_counts_the_rest(tmp_path, count, columns, height):
    names = tuple(f"gpu-{number}" for number in range(count))
    at = "2026-11-21T08:00:00Z"
    fill(tmp_path / "r", *names, began=dict.fromkeys(names, at))
    command = (sys.executable, "-c", DRAW, "r")
    ends = {"then": lambda process: view_on(process).kill(), "when": f"[{height}A"}
    with keep_playing(tmp_path / "r"):
        written = on_terminal(*command, cwd=tmp_path, COLUMNS=str(columns), **ends)
    lines, ups = TABLE.search(written).groups()
    lines = plain(lines)
    assert (lines.count("\n"), int(ups)) == (height, height)
    assert max(map(len, lines.splitlines())) <= columns
    assert f"0 of {count} hosts proven; {count} RUNNING." in lines
    assert ("and 181 more hosts" in lines) is (count == 200 and columns == 100)
