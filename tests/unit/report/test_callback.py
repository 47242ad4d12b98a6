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

from rekindle.results.gather import gather
from rekindle.results.journal import playing

REPOSITORY = Path(__file__).parents[3]
CALLBACK = REPOSITORY / "plugins" / "callback" / "rekindle.py"
SPECS = Path("roles/settings/meta/argument_specs.yml")

PREFLIGHT = r"""
- ansible.builtin.raw: "true"
- ansible.builtin.raw: "printf '\\033[31mno\nroom\\033[0m' >&2; exit 3"
  when: inventory_hostname == 'bad' and mend is undefined
- ansible.builtin.fail: {msg: Not this.}
  when: inventory_hostname == 'ignoring'
  ignore_errors: true # what Ansible passes over must not become the host's cause
- block:
    - ansible.builtin.fail: {msg: Not this.}
      when: inventory_hostname == 'rescued'
  rescue:
    - ansible.builtin.debug: {msg: Rescued.}
- ansible.builtin.fail: {msg: "task\e[31m\e]0;title\a\x9b2J"}
  when: inventory_hostname == 'ignoring'
  ignore_errors: true # it is shown all the same, with what a terminal would obey
- ansible.builtin.assert: {that: item != 2, fail_msg: "Item {{ item }} is odd."}
  loop: [1, 2, 3]
  when: inventory_hostname == 'looping'
"""

VALIDATE = """
- ansible.builtin.debug: {msg: "folder={{ lookup('env', 'REKINDLE_RESULTS') }}"}
- ansible.builtin.include_role: {name: rekindle.flare.payload}
"""

PAYLOAD = """
- ansible.builtin.fail: {msg: No payload.}
  when: inventory_hostname == 'late'
"""

REPORT = """
- ansible.builtin.fail: {msg: The report fails.}
"""

PLAY = """
- {name: Stages, hosts: all, strategy: host_pinned, roles: [ROLES]}
"""

REPORT_PLAY = """
- {name: Report, hosts: localhost, connection: local, roles: [rekindle.flare.report]}
"""

SOMEBODY = """
- hosts: all
  tasks:
    - ansible.builtin.fail: {msg: Theirs.}
      when: inventory_hostname == 'late'
    - ansible.builtin.include_role: {name: theirs}
      when: inventory_hostname != 'looping'
    - ansible.builtin.import_role: {name: rekindle.flare.validate}
- {hosts: localhost, roles: [rekindle.flare.report]}
"""

THEIRS = """
- ansible.builtin.include_role: {name: rekindle.flare.preflight}
"""

INVENTORY = """
all:
  vars: {ansible_connection: local}
  hosts:
    good: {}
    bad: {}
    ignoring: {}
    rescued: {}
    looping: {}
    late: {}
    lost: {ansible_connection: ssh, ansible_host: 127.0.0.1, ansible_port: 1}
"""

CONFIG = """
[defaults]
callbacks_enabled = rekindle.flare.rekindle
collections_path = collections
gathering = explicit
[ssh_connection]
retries = 0
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    texts = {
        "ansible.cfg": CONFIG,
        "inventory.yml": INVENTORY,
        "site.yml": PLAY.replace("ROLES", "rekindle.flare.preflight, rekindle.flare.validate")
        + REPORT_PLAY.strip(),
        "elsewhere/somebody.yml": SOMEBODY,
        "elsewhere/named.yml": SOMEBODY.replace("tasks:", "vars: {rekindle_results: '{{ x }}'}\n  tasks:", 1),
        "elsewhere/roles/theirs/tasks/main.yml": THEIRS,
        "foreign.yml": "- {hosts: all, tasks: [{ansible.builtin.debug: {msg: Not ours.}}]}",
        "playbooks/preflight.yml": PLAY.replace("ROLES", "rekindle.flare.preflight"),
        "playbooks/collect.yml": PLAY.replace("ROLES", "rekindle.flare.collect"),
        "roles/collect/tasks/main.yml": "- {ansible.builtin.command: sleep 5}",
        "playbooks/validate.yml": PLAY.replace("ROLES", "rekindle.flare.validate"),
        "roles/preflight/tasks/main.yml": PREFLIGHT,
        "roles/validate/tasks/main.yml": VALIDATE,
        "roles/payload/tasks/main.yml": PAYLOAD,
        "roles/report/tasks/main.yml": REPORT,
        str(SPECS): (REPOSITORY / SPECS).read_text(),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "plugins" / "callback").mkdir(parents=True)
    shutil.copy(CALLBACK, folder / "plugins" / "callback")
    collection = folder / "collections/ansible_collections/rekindle/flare"
    collection.parent.mkdir(parents=True)
    collection.symlink_to(folder)
    return folder


def play(repository, *arguments, **environ):
    """Run ansible-playbook in the repository and return all that it said."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE", "REKINDLE"))}
    inventory = () if "-i" in arguments else ("-i", "inventory.yml")
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), *inventory, *arguments],
        cwd=repository,
        env={**kept, "COLUMNS": "200", **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


def rows(folder):
    return {row["host"]: row for row in json.loads((folder / "results.json").read_text())["rows"]}


@pytest.fixture(scope="module")
def site(repository):
    """Return what site.yml said, and its results folder."""
    said = play(repository, "site.yml")
    (folder,) = (repository / "results").iterdir()
    return said, folder


HOSTS = ["good", "bad", "ignoring", "rescued", "looping", "late", "lost"]


def test_the_run_has_the_hosts_of_the_stages_and_ends_with_the_table(site):
    said, folder = site
    assert "room" in said
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", said)  # Ansible shows what a host says as it is
    assert len(folder.name) == len("20261121T020000Z")
    assert f"folder={folder}" in said  # which the workers have too
    assert json.loads((folder / "run.json").read_text())["hosts"] == HOSTS
    after = said.split("PLAY RECAP", 1)[1]
    assert "SKIPPED" in after
    assert after.rstrip().endswith(str(folder / "report.html"))


@pytest.mark.parametrize(
    ("host", "stage", "state", "says"),
    [
        ("bad", "preflight", "failed", "no room. Fix: "),
        ("looping", "preflight", "failed", "Item 2 is odd. Fix: "),
        ("late", "validate", "failed", "No payload. Fix: see the failed task of validate"),
        ("lost", "preflight", "unreachable", "Connection refused. Fix: check its address"),
    ],
)
def test_a_host_that_left_has_an_outcome(site, host, stage, state, says):
    outcome = json.loads((site[1] / host / "outcome.json").read_text())
    assert (outcome["stage"], outcome["state"]) == (stage, state)
    assert says in outcome["says"]
    assert rows(site[1])[host]["cause"] == outcome["says"]


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
    said = foreign("somebody.yml")
    (folder,) = (repository / "elsewhere" / "results").iterdir()
    assert f"folder={folder}" in said
    assert json.loads((folder / "run.json").read_text())["hosts"] == HOSTS
    assert folder.stat().st_mode & 0o777 == 0o700
    outcomes = {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/outcome.json")}
    stages = {host: outcome["stage"] for host, outcome in outcomes.items()}
    assert stages == {"bad": "preflight", "lost": "preflight"}
    assert "no room. Fix: " in outcomes["bad"]["says"]
    assert set(rows(folder)) == set(HOSTS)
    assert said.split("PLAY RECAP", 1)[1].rstrip().endswith("/report.html")


def test_a_folder_that_a_play_names_itself_is_the_callback_s_too(foreign, tmp_path):
    said = foreign("named.yml", "--limit", "good,localhost", "-e", f"x={tmp_path}/named")
    assert f"folder={tmp_path}/named" in said
    assert (tmp_path / "named" / "run.json").exists()
    assert (tmp_path / "named" / "report.html").exists()


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
    assert not other.exists()
    play(repository, *arguments, REKINDLE_RESULTS=str(other))
    assert (other / "report.html").exists()


@pytest.mark.parametrize(("more", "told"), [((), True), (("--check",), False)], ids=["", "check"])
def test_an_interrupt_tells_where_results_are_and_what_goes_on(repository, tmp_path, more, told):
    command = [Path(sys.executable).with_name("ansible-playbook"), "-i", "inventory.yml", *more]
    command += ["playbooks/collect.yml", "--limit=good", "-e", f"rekindle_results={tmp_path}/r"]
    command += ["-e", f"ansible_python_interpreter={sys.executable}"]
    with subprocess.Popen(
        command, cwd=repository, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout
        said = next(line for line in process.stdout if line.startswith("TASK"))
        if told:
            ends = time.monotonic() + 30  # the banner may be printed before the callback begins
            while not playing(tmp_path / "r") and time.monotonic() < ends:
                time.sleep(0.01)
            kinds = [row.kind for row in gather(tmp_path / "r").rows]
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            assert kinds == ["RUNNING"]
        said += process.stdout.read()
    assert (f"\nInterrupted. Results so far: {tmp_path}/r\n" in said) is told
    assert ("the same command follows them." in said) is told
    assert [row.kind for row in gather(tmp_path / "r").rows] != ["RUNNING"]


@pytest.mark.parametrize(
    "arguments",
    [("site.yml", "--syntax-check"), ("site.yml", "--list-tasks"), ("foreign.yml", "--limit", "good")],
)
def test_nothing_is_written_where_no_stage_runs(repository, tmp_path, arguments):
    said = play(repository, *arguments, "-e", f"rekindle_results={tmp_path}/r")
    assert "ERROR" not in said
    assert "report.html" not in said
    assert not (tmp_path / "r").exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(repository, tmp_path):
    (tmp_path / "r").write_text("in the way")
    arguments = ("playbooks/validate.yml", "--limit", "good", "-e", f"rekindle_results={tmp_path}/r")
    said = play(repository, *arguments)
    assert f"[ERROR]: {tmp_path}/r cannot be written: File exists. Fix: " in said
    assert "Traceback" not in said


@pytest.mark.parametrize("playbook", ["site.yml", "playbooks/preflight.yml"])
def test_what_leaves_tasks_out_is_refused(repository, tmp_path, playbook):
    for option in ("--tags=nosuch", "--tags=preflight", "--skip-tags=validate", "--start-at-task=x"):
        said = play(repository, playbook, option, "-e", f"rekindle_results={tmp_path / 'r'}")
        assert f"{option.partition('=')[0]} leaves out tasks, and nothing would be proven. Fix: " in said
        assert "TASK" not in said
        assert not (tmp_path / "r").exists()


def test_a_stage_without_a_host_is_refused(repository, tmp_path):
    (tmp_path / "none.yml").write_text("all: {hosts: {}}")
    arguments = ("-i", str(tmp_path / "none.yml"), "-e", f"rekindle_results={tmp_path / 'r'}")
    said = play(repository, "site.yml", *arguments)
    assert "No host is left to do anything for. Fix: " in said
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("told", [False, True])
def test_a_check_ends_with_its_own_words_and_leaves_no_results(repository, tmp_path, told):
    before = set((repository / "results").iterdir()) if (repository / "results").exists() else set()
    environ = {"REKINDLE_TOLD": str(tmp_path / "told")} if told else {}
    (tmp_path / "tmp").mkdir()
    arguments = ("site.yml", "--check", "--limit", "good,looping")
    after = play(repository, *arguments, TMPDIR=str(tmp_path / "tmp"), **environ).split("PLAY RECAP", 1)[1]
    assert "looping: refused: Item 2 is odd." in after
    assert not re.search("SKIPPED|report.html", after)
    assert (set((repository / "results").iterdir()) if before else before) == before
    assert not list((tmp_path / "tmp").glob("rekindle-*"))
    if told:
        assert (tmp_path / "told").read_text() == str(tmp_path / "check")
        asked = json.loads((tmp_path / "check/run.json").read_text())["asked"]
        assert asked == {"good": "plan", "looping": "plan"}


def test_a_check_in_a_folder_that_was_named_leaves_its_records_and_the_reports_that_are_there(
    repository, site, tmp_path
):
    folder = shutil.copytree(site[1], tmp_path / "again")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in {".html", ".xml"}}
    more = ("-e", "mend=1", "-e", f"rekindle_results={folder}")
    said = play(repository, "site.yml", "--check", "--limit", "bad", *more)
    assert re.search(r"\n\nbad: refused: It was not read.*\n$", said)
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert json.loads((folder / "run.json").read_text())["asked"]["bad"] == "plan"
