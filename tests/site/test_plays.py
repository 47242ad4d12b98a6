# SPDX-License-Identifier: Apache-2.0
"""``rekindle site``, ``check`` and ``retire``: Ansible as its user calls it, and our exit statuses."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from contextlib import suppress

import msgspec
import pytest
from runners.commands import capture_command

from rekindle.cli.plays import _status
from rekindle.results.check import CheckData

COMMAND = [sys.executable, "-P", "-c", "import sys; from rekindle import cli; sys.exit(cli.main())"]
HOST = f"h ansible_connection=local ansible_python_interpreter={sys.executable} rekindle_root="


@pytest.fixture
def folder(tmp_path):
    """Return a folder that everybody can write, from which no Ansible reads its configuration."""
    here = tmp_path / "here"
    here.mkdir(mode=0o777)
    here.chmod(0o777)
    (here / "ansible.cfg").write_text("[defaults]\nroles_path = /nowhere\n")
    (here / "yaml.py").write_text("raise SystemExit('a module of the folder was imported')\n")
    (here / "lease_hosts").write_text(f"{HOST}{tmp_path}/root rekindle_min_free_gb=0\n")
    return here


@pytest.fixture
def call(folder):
    """Call ``rekindle`` in the folder."""

    def run(*arguments, **environ):
        return capture_command(
            [*COMMAND, *arguments],
            cwd=folder,
            env={**os.environ, "ANSIBLE_NOCOLOR": "1", **environ},
            timeout=120,
        )

    return run


def test_ansibles_status_becomes_ours():
    began = {0: 0, 1: 3, 2: 1, 4: 1, 99: 3, 250: 3, -15: 3}
    never = {0: 0, 1: 2, 2: 2, 4: 2, 5: 2, 99: 3, 250: 3, -15: 3}
    assert {ended: _status(ended, True) for ended in began} == began
    assert {ended: _status(ended, False) for ended in never} == never


def test_options_go_on_to_ansible(call):
    done = call("site", "-i", "lease_hosts", "--list-tasks", "--skip-tags", "x", "-vv")
    assert done.returncode == 0, done.stderr
    assert "validate" in done.stdout


@pytest.mark.parametrize(
    "arguments", [("--nosuch",), ("-e", "@nowhere.yml"), ("--vault-password-file", "nowhere")]
)
def test_called_wrongly_is_2(call, folder, arguments):
    done = call("site", "-i", "lease_hosts", *arguments)
    assert done.returncode == 2
    assert done.stderr
    assert not (folder / "results").exists()


def test_results_go_to_the_users_folder_and_json_is_apart_from_what_ansible_prints(call, folder):
    (folder / "more.yml").write_text("rekindle_min_free_gb: 1000000\n")
    done = call("site", "-i", "lease_hosts", "-e", "@more.yml", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    run = (folder / "results" / "latest").resolve(strict=True)
    answer = json.loads(done.stdout)
    assert (answer["run"], answer["passed"], answer["hosts"][0]["host"]) == (run.name, False, "h")
    assert (run / "h/outcome.json").is_file()
    assert "PLAY RECAP" in done.stderr
    assert "Fix:" in done.stderr
    assert str(run / "report.html") in done.stderr


def test_a_check_shows_what_would_be_done_and_leaves_nothing(call, folder, tmp_path):
    """Also whether the lease is long enough."""
    (tmp_path / "tmp").mkdir()
    with (folder / "lease_hosts").open("a") as hosts:
        for name, setting in (("full", "rekindle_min_free_gb=1000000"), ("late", "budget=90s")):
            host = HOST.replace("h", name, 1)
            hosts.write(f"{host}{tmp_path}/{name} rekindle_min_free_gb=0 {setting}\n")
    before = {path.name for path in folder.iterdir()}
    wants = ("-e", "rekindle_gpus_required=false", "--json")
    done = call("site", "--check", "-i", "lease_hosts", *wants, TMPDIR=str(tmp_path / "tmp"))
    assert done.returncode == 1, done.stdout + done.stderr
    check = msgspec.convert(json.loads(done.stdout), CheckData)
    words = {host.host: host.word for host in check.hosts}
    assert (check.ready, words) == (False, {"h": "ready", "full": "refused", "late": "refused"})
    of = {host.host: host for host in check.hosts}
    assert [job.job for job in of["h"].jobs] == ["pt_ddp"]
    assert [environment.there for environment in of["h"].environments] == [False]
    assert "Fix:" in str(of["full"].cause)
    assert "h: ready\n  torch: " in done.stderr
    assert "late: refused: pt_ddp takes about 60 s and " in done.stderr
    assert not re.search("SKIPPED|not all proven|report.html", done.stderr)
    assert {path.name for path in folder.iterdir()} == before
    assert not any((tmp_path / name).exists() for name in ("root", "full", "late"))
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_host_without_rekindle_is_retired(call):
    done = call("retire", "-i", "lease_hosts")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "RETIRED" in done.stdout


def test_ansible_has_the_environment_of_its_user_and_no_file_does(call, folder, tmp_path):
    (tmp_path / "tmp").mkdir()
    inventory = folder / "inventory.sh"
    inventory.write_text(f"#!/bin/sh\ncd {tmp_path}\nenv > env\ngrep -rl CANARY tmp > found\necho '{{}}'\n")
    inventory.chmod(0o755)
    call("site", "-i", "inventory.sh", "--list-hosts", TMPDIR=str(tmp_path / "tmp"), HF_TOKEN="CANARY")
    assert (tmp_path / "found").read_text() == ""
    there = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines() if "=" in line)
    assert there["HF_TOKEN"] == "CANARY"
    for name in ("ANSIBLE_HOST_KEY_CHECKING", "ANSIBLE_STDOUT_CALLBACK", "ANSIBLE_CALLBACK_PLUGINS"):
        assert there.get(name) == os.environ.get(name)
    assert not list((tmp_path / "tmp").glob("rekindle-*"))


def test_a_password_is_asked_for_in_the_terminal(folder):
    (folder / "secret.yml").write_text("secret: 1\n")
    (folder / "password").write_text("canary\n")
    vault = ["-m", "ansible", "vault", "encrypt", "secret.yml", "--vault-password-file", "password"]
    subprocess.run([sys.executable, "-P", *vault], cwd=folder, check=True, timeout=60)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        arguments = ("site", "-i", "lease_hosts", "-e", "@secret.yml", "--ask-vault-pass", "--list-hosts")
        os.execv(COMMAND[0], [*COMMAND, *arguments])
    output = b""
    while b"Vault password: " not in output:
        assert select.select([terminal], [], [], 60)[0]
        output += os.read(terminal, 1024)
    os.write(terminal, b"canary\n")
    try:
        while more := os.read(terminal, 1024):
            output += more
    except OSError:  # EIO: the terminal's last user has gone
        pass
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, output
    assert b"hosts (1):" in output
    assert b"canary" not in output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_ends_it_ends_ansible(folder, number, tmp_path):
    inventory = folder / "inventory.sh"
    inventory.write_text(f"#!/bin/sh\necho $PPID > {tmp_path}/began\nexec sleep 600\n")
    inventory.chmod(0o755)
    os.mkfifo(tmp_path / "began")
    began = os.open(tmp_path / "began", os.O_RDWR)
    with subprocess.Popen(
        [*COMMAND, "site", "-i", "inventory.sh"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            assert select.select([began], [], [], 60)[0]
            ansible = int(os.read(began, 100))
            if number == signal.SIGINT:
                os.killpg(process.pid, number)  # as a terminal does
            else:
                process.send_signal(number)
            assert process.wait(timeout=60) == 3
            with pytest.raises(ProcessLookupError):
                os.kill(ansible, 0)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the inventory's sleep
    os.close(began)
