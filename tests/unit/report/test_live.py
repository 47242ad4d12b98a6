# SPDX-License-Identifier: Apache-2.0
"""The live view inside a run, on a terminal that the test makes; what is written there is read."""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import psutil
import pytest
from callback_plays import latest, make_repository, rows
from report_folders import fill

from rekindle.results.journal import keep_playing

ON_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
DRAW = "import sys; from rekindle.report import live; live.main(sys.argv[1])"
PLAYBOOK = str(Path(sys.executable).with_name("ansible-playbook"))
HIDDEN, SHOWN, UP = "\x1b[?25l", "\x1b[?25h", "\x1b[1A\x1b[2K"
SLEEPS = "- {ansible.builtin.raw: 'true'}\n- {ansible.builtin.raw: sleep 4}\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = make_repository(tmp_path_factory.mktemp("repository"))
    (folder / "roles/collect/tasks/main.yml").write_text(SLEEPS)
    return folder


def on_terminal(*command, cwd, then=lambda process: None, when="preflight  ", **environ):
    """Return what a command writes on a terminal of 100 by 24; ``then`` is done once ``when`` is there."""
    kept = {name: value for name, value in psutil.Process().environ().items() if name != "NO_COLOR"}
    size = {"COLUMNS": "100", "LINES": "24", "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL, *command],
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


def view_of(process):
    """Return ansible-playbook on a test's terminal, and the view that it started."""
    (ansible,) = psutil.Process(process.pid).children()
    (view,) = (child for child in ansible.children() if "live.main" in " ".join(child.cmdline()))
    return ansible, view


def test_the_hosts_are_one_table_failures_stay_and_the_answer_is_last(repository):
    written = on_terminal(PLAYBOOK, "site.yml", "-i", "inventory.yml", cwd=repository)
    before, *_, after = re.split(re.escape(HIDDEN) + "|" + re.escape(SHOWN), written)
    during = plain(written[len(before) : -len(after)])
    assert "TASK [rekindle.flare.preflight" in plain(before)
    assert re.search(r"of 7 hosts proven; .*\d RUNNING", during)
    assert "bad failed at preflight: no room\r\n" in during
    assert "lost unreachable at preflight: Failed to connect to the host via ssh" in during
    assert "late failed at validate: No payload." in during
    assert not re.search(r"TASK|RECAP|ok: |folder=", during + plain(after))
    assert re.search(r"^\s*0 of 7 hosts proven; 7 SKIPPED\.", plain(after).replace(UP, ""))
    assert rows(latest(repository / "results"))["bad"]["cause"].startswith("no room")


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (("-v",), {}),
        ((), {"NO_COLOR": "1"}),
        ((), {"TERM": "dumb"}),
        ((), {"ANSIBLE_STDOUT_CALLBACK": "minimal"}),
        (("--check",), {}),
    ],
)
def test_who_wants_lines_gets_those_of_ansible(repository, arguments, environ, tmp_path):
    named = ("-e", f"rekindle_results={tmp_path}/r", "-l", "good")
    play = (PLAYBOOK, "playbooks/validate.yml", "-i", "inventory.yml", *named, *arguments)
    written = on_terminal(*play, cwd=repository, **environ)
    assert HIDDEN not in written
    assert "folder=" in written


@pytest.fixture
def sleeping(repository, tmp_path):
    """Return a play on a terminal whose second task takes 4 s."""
    play = (PLAYBOOK, "playbooks/collect.yml", "-i", "inventory.yml", "-l", "good")
    return partial(on_terminal, *play, "-e", f"rekindle_results={tmp_path}/r", cwd=repository)


def test_ctrl_c_takes_the_table_away_and_says_where_the_results_are(sleeping, tmp_path):
    def interrupt(process):
        process.stdin.write(b"\x03")
        process.stdin.flush()

    written = sleeping(then=interrupt)
    during, after = written.split(SHOWN)
    assert "User interrupted execution" in during, written
    assert plain(after).split("\r\n")[-3:] == [
        f"Interrupted. Results so far: {tmp_path}/r",
        "Jobs that have started continue on their hosts, and the same command follows them.",
        "",
    ]


def test_a_playbook_that_is_killed_leaves_a_sane_terminal(sleeping):
    assert SHOWN in sleeping(then=lambda process: view_of(process)[0].kill())


def test_without_its_view_a_playbook_goes_on_in_lines(sleeping):
    assert "PLAY RECAP" in sleeping(then=lambda process: view_of(process)[1].kill())


@pytest.mark.parametrize("count", [3, 200])
def test_it_is_as_high_as_the_terminal_at_most_and_counts_the_rest(tmp_path, count):
    names = tuple(f"gpu-{number}" for number in range(count))
    at = "2026-11-21T08:00:00Z"
    fill(tmp_path / "r", *names, began=dict.fromkeys(names, at))
    talk = f"printf 'Beware.\\nOf it.\\0\\0' | {sys.executable} -c '{DRAW}' r"
    with keep_playing(tmp_path / "r"):
        written = on_terminal("sh", "-c", talk, cwd=tmp_path)
    height = max(len(ups) // len(UP) for ups in re.findall(f"(?:{re.escape(UP)})+", written))
    assert height == (6 if count == 3 else 23)
    assert f"0 of {count} hosts proven; {count} RUNNING." in written
    assert ("and 181 more hosts" in written) is (count == 200)
    assert "Beware.\r\nOf it.\r\n" in plain(written)
