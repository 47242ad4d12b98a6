# SPDX-License-Identifier: Apache-2.0
"""The user's own command at a run's end: what it gets, and how it may fail."""

import pytest

from rekindle.actions import notification
from rekindle.actions.notification import find_program_mistakes, notify_command


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results.json").write_text('{"run": "r"}')
    return tmp_path


def test_it_gets_the_results_on_its_standard_input_and_their_folder(results):
    got = f"{results}/got"
    assert notify_command(["sh", "-c", f'(cat; echo "$REKINDLE_RESULTS") > {got}'], results) is None
    assert (results / "got").read_text() == f'{{"run": "r"}}{results}\n'


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (
            ["sh", "-c", "echo a; printf 'no \\033[31mroom.\\n'; exit 3"],
            "'sh', ended with status 3: a no room. Fix: ",
        ),
        (["false"], "'false', ended with status 1. Fix: "),
        (["sh", "-c", "kill -9 $$"], "'sh', ended with status -9. Fix: "),
        (
            ["curl -d @- http://x"],
            "'curl -d @- http://x', cannot be run: [Errno 2] No such file or directory: ",
        ),
        (["a\0b"], "cannot be run: embedded null byte. Fix: "),
    ],
)
def test_a_failure_is_one_sentence(results, command, what):
    flaw = notify_command(command, results)
    assert flaw.startswith("rekindle_on_end, ")
    assert what in flaw
    assert flaw.isprintable()
    assert flaw.endswith(
        f"[command, argument], and try it with < {results}/results.json; the verdicts stand."
    )


def test_a_program_that_is_not_there_is_told_before_the_run():
    message = "rekindle_on_end begins with 'curl -d @-', and no program here has that name. Fix: write it as "
    assert find_program_mistakes(["curl -d @-"])[0].startswith(message)
    assert find_program_mistakes(["nobodys-program"])[0].endswith("Fix: install it, or write its path.")
    assert [find_program_mistakes(command) for command in ([], ["sh", "-c", "x"])] == [[], []]


def test_one_that_goes_on_is_ended_and_what_it_left_is_not_waited_for(results, monkeypatch):
    monkeypatch.setattr(notification, "LIMIT_S", 0.5)
    assert "did not end within 0.5 s." in notify_command(["sleep", "60"], results)
    assert notify_command(["sh", "-c", "sleep 5 &"], results) is None
