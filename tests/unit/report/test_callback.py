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


@pytest.mark.parametrize("more", [(), ("--check",)], ids=["run", "check"])
def test_a_command_of_the_user_s_own_is_run_at_the_end_and_its_failure_is_a_warning(
    repository, tmp_path, more
):
    script = f"cat > {tmp_path}/got; echo no hook; exit 5"
    settings = {"rekindle_results": str(tmp_path / "r"), "rekindle_on_end": ["sh", "-c", script]}
    output = play(repository, "playbooks/validate.yml", "--limit=good", "-e", json.dumps(settings), *more)
    warning = "[WARNING]: rekindle_on_end, 'sh', ended with status 5: no hook."
    assert (warning in " ".join(output.split())) is (not more)
    assert (tmp_path / "got").exists() is (not more)
    if not more:
        assert (tmp_path / "got").read_bytes() == (tmp_path / "r/results.json").read_bytes()


def test_a_second_run_clears_what_it_redoes_and_nothing_else(repository, site, tmp_path):
    folder = shutil.copytree(site[1], tmp_path / "again")
    more = ("-e", "mend=1", "-e", f"rekindle_results={folder}")
    play(repository, "playbooks/preflight.yml", "--limit", "bad", *more)
    assert "No verdict was collected" in rows(folder)["bad"]["cause"]
    assert "Item 2 is odd" in rows(folder)["looping"]["cause"]


def test_the_extra_variable_goes_before_the_environment(repository, tmp_path):
    given, other = tmp_path / "given", tmp_path / "other"
    arguments = ("playbooks/validate.yml", "--limit", "good")
    play(repository, *arguments, "-e", f"rekindle_results={given}", REKINDLE_RESULTS=str(other))
    assert (given / "report.html").exists()
    assert not other.exists()  # which alone is taken: tests/site/test_anywhere.py


@pytest.mark.parametrize(("more", "reported"), [((), True), (("--check",), False)], ids=["", "check"])
def test_an_interrupt_reports_where_results_are_and_what_goes_on(repository, tmp_path, more, reported):
    command = [Path(sys.executable).with_name("ansible-playbook"), "-i", "inventory.yml", *more]
    command += ["playbooks/collect.yml", "--limit=good", "-e", f"rekindle_results={tmp_path}/r"]
    command += ["-e", f"ansible_python_interpreter={sys.executable}"]
    with subprocess.Popen(
        command,
        cwd=repository,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        output = ""
        if reported:
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
            output += process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:  # of Ansible, whose worker died with a lock; a user types it again
            os.killpg(process.pid, signal.SIGINT)
            output += process.communicate()[0]
    assert (f"\nInterrupted. Results so far: {tmp_path}/r\n" in output) is reported
    assert ("the same command follows them." in output) is reported
    assert [row.kind for row in gather_results(tmp_path / "r").rows] != ["RUNNING"]


def test_a_check_in_a_folder_that_was_named_leaves_its_records_and_the_reports_that_are_there(
    repository, site, tmp_path
):
    folder = shutil.copytree(site[1], tmp_path / "again")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in {".html", ".xml"}}
    more = ("-e", "mend=1", "-e", f"rekindle_results={folder}")
    output = play(repository, "site.yml", "--check", "--limit", "bad", *more)
    assert re.search(r"\n\nbad: refused: It was not read.*\n$", output)
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert json.loads((folder / "run.json").read_text())["asked"]["bad"] == "plan"
