# SPDX-License-Identifier: Apache-2.0
"""The callback under a real ansible-playbook, in a repository of throwaway playbooks."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from callback_plays import latest, make_repository, play, rows

from rekindle.results.contents import gather_results
from rekindle.results.journal import is_playing


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return make_repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture(scope="module")
def site(repository):
    """Return the output of site.yml, and its results folder."""
    output = play(repository, "site.yml")
    folder = latest(repository / "results")
    return output, folder


HOSTS = ["good", "bad", "ignoring", "rescued", "looping", "late", "lost"]


def test_the_run_has_the_hosts_of_the_stages_and_ends_with_the_table(site):
    output, folder = site
    assert "room" in output
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", output)  # Ansible does not clean it
    assert len(folder.name) == len("20261121T020000Z")
    assert f"folder={folder}" in output  # which the workers have too
    assert json.loads((folder / "run.json").read_text())["hosts"] == HOSTS
    after = output.split("PLAY RECAP", 1)[1]
    assert "SKIPPED" in after
    assert after.rstrip().endswith(str(folder / "report.html"))


@pytest.mark.parametrize(
    ("host", "stage", "state", "message"),
    [
        ("bad", "preflight", "failed", "no room. Fix: "),
        ("looping", "preflight", "failed", "Item 2 is odd. Fix: "),
        ("late", "validate", "failed", "No payload. Fix: see the failed task of validate"),
        ("lost", "preflight", "unreachable", "Connection refused. Fix: check its address"),
    ],
)
def test_a_host_that_left_has_an_outcome(site, host, stage, state, message):
    outcome = json.loads((site[1] / host / "outcome.json").read_text())
    assert (outcome["stage"], outcome["state"]) == (stage, state)
    both = f"{outcome['message']} Fix: {outcome['fix']}"
    assert message in both
    assert rows(site[1])[host]["cause"] == both


@pytest.mark.parametrize("host", ["good", "ignoring", "rescued", "localhost"])
def test_a_host_that_went_on_has_none(site, host):
    assert not (site[1] / host / "outcome.json").exists()


@pytest.fixture(scope="module")
def foreign(repository):
    """Return what runs a playbook in another folder, which has the collection by variables alone."""

    def run(*arguments):
        return play(
            repository / "elsewhere",
            *("-i", "../inventory.yml", *arguments),
            ANSIBLE_COLLECTIONS_PATH=str(repository / "collections"),
            ANSIBLE_CALLBACKS_ENABLED="rekindle.flare.rekindle",
            ANSIBLE_SSH_RETRIES="0",
            ANSIBLE_GATHERING="explicit",
        )

    return run


def test_roles_in_somebody_s_own_playbook_have_one_folder_beside_it(repository, foreign):
    output = foreign("somebody.yml")
    folder = latest(repository / "elsewhere" / "results")
    assert f"folder={folder}" in output
    assert json.loads((folder / "run.json").read_text())["hosts"] == HOSTS
    assert folder.stat().st_mode & 0o777 == 0o700
    outcomes = {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/outcome.json")}
    stages = {host: outcome["stage"] for host, outcome in outcomes.items()}
    assert stages == {"bad": "preflight", "lost": "preflight"}
    assert outcomes["bad"]["message"].endswith("no room.")
    assert outcomes["bad"]["fix"]
    assert set(rows(folder)) == set(HOSTS)
    assert output.split("PLAY RECAP", 1)[1].rstrip().endswith("/report.html")


def test_a_folder_that_a_play_names_itself_is_the_callback_s_too(repository, foreign, tmp_path):
    output = foreign("named.yml", "--limit", "good,localhost", "-e", f"x={tmp_path}/named")
    assert f"folder={tmp_path}/named" in output
    assert (tmp_path / "named" / "run.json").exists()
    assert (tmp_path / "named" / "report.html").exists()
    assert (repository / "elsewhere/results/latest").readlink() == tmp_path / "named"


def _end_with(tmp_path, folder):
    """Return the settings of a run in ``folder`` whose own command at its end fails."""
    script = f"cat > {tmp_path}/got; echo no hook; exit 5"
    return json.dumps({"rekindle_results": str(folder), "rekindle_on_end": ["sh", "-c", script]})


def test_a_command_of_the_user_s_own_is_run_at_the_end_and_its_failure_is_a_warning(repository, tmp_path):
    settings, other = _end_with(tmp_path, tmp_path / "r"), str(tmp_path / "other")
    arguments = ("playbooks/validate.yml", "--limit=good", "-e", settings)
    output = play(repository, *arguments, REKINDLE_RESULTS=other)
    assert "[WARNING]: rekindle_on_end, 'sh', ended with status 5: no hook." in " ".join(output.split())
    assert (tmp_path / "got").read_bytes() == (tmp_path / "r/results.json").read_bytes()
    assert (tmp_path / "r/report.html").exists()
    # The extra variable goes before the environment, which alone is taken: tests/site/test_anywhere.py
    assert not (tmp_path / "other").exists()


def test_a_second_run_clears_what_it_redoes_and_nothing_else(repository, site, tmp_path):
    folder = shutil.copytree(site[1], tmp_path / "again")
    more = ("-e", "mend=1", "-e", f"rekindle_results={folder}")
    play(repository, "playbooks/preflight.yml", "--limit", "bad", *more)
    assert "No verdict was collected" in rows(folder)["bad"]["cause"]
    assert "Item 2 is odd" in rows(folder)["looping"]["cause"]


def test_an_interrupt_reports_where_results_are_and_what_goes_on(repository, tmp_path):
    command = [Path(sys.executable).with_name("ansible-playbook"), "-i", "inventory.yml"]
    command += ["playbooks/collect.yml", "--limit=good", "-e", f"rekindle_results={tmp_path}/r"]
    command += ["-e", f"ansible_python_interpreter={sys.executable}"]
    with subprocess.Popen(
        command,
        cwd=repository,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        ends, kinds = time.monotonic() + 60, []
        while kinds != ["RUNNING"] and time.monotonic() < ends:
            time.sleep(0.05)
            kinds = (
                [row.kind for row in gather_results(tmp_path / "r").rows]
                if is_playing(tmp_path / "r")
                else []
            )
        time.sleep(1)  # into the task, of which Ansible prints nothing before its end
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert kinds == ["RUNNING"]
        try:
            output = process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:  # of Ansible, whose worker died with a lock; a user types it again
            os.killpg(process.pid, signal.SIGINT)
            output = process.communicate()[0]
    assert f"\nInterrupted. Results so far: {tmp_path}/r\n" in output
    assert "the same command follows them." in output
    assert [row.kind for row in gather_results(tmp_path / "r").rows] != ["RUNNING"]


def test_a_check_in_a_folder_that_was_named_leaves_its_records_and_the_reports_and_runs_no_command(
    repository, site, tmp_path
):
    folder = shutil.copytree(site[1], tmp_path / "again")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in {".html", ".xml"}}
    more = ("-e", "mend=1", "-e", _end_with(tmp_path, folder))
    output = play(repository, "site.yml", "--check", "--limit", "bad", *more)
    assert re.search(r"\n\nbad: refused: It was not read.*\n$", output)
    assert "Interrupted" not in output
    assert not is_playing(folder)
    assert not (tmp_path / "got").exists()
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert json.loads((folder / "run.json").read_text())["asked"]["bad"] == "plan"
