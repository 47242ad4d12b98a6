# SPDX-License-Identifier: Apache-2.0
"""Secrets stay where they are, and what a host or an inventory says is text."""

import json
import os
import re
import shlex
import tarfile
import zipfile
from pathlib import Path

from runners.commands import capture_command
from runners.leaks import CANARY, leaks
from runners.plays import REPOSITORY, play

SAYS = "{{ lookup('ansible.builtin.pipe', 'touch SENTINEL') }}"


def _hosts(tmp_path, **hosts):
    inventory = tmp_path / "hosts.yml"
    common = {
        "ansible_connection": "local",
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        "rekindle_gpus_required": False,
        "rekindle_min_free_gb": 1,
        "rekindle_root": f"{tmp_path}/root",
    }
    inventory.write_text(json.dumps({"all": {"vars": common, "hosts": hosts}}))
    return inventory


def _causes(results):
    rows = json.loads((results / "results.json").read_text())["rows"]
    return {row["host"]: row["cause"] for row in rows}


def test_the_scan_finds_a_secret_wherever_it_is(tmp_path):
    (tmp_path / "plain").write_text(f"a {CANARY} b")
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in", CANARY)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.zip", "b.zip")
    (tmp_path / "clean").write_text("nothing")
    assert {Path(name).relative_to(tmp_path).parts[0] for name in leaks(tmp_path)} == {
        "plain",
        "a.zip",
        "a.tar.gz",
    }


def _ansible(command, *arguments, cwd=REPOSITORY):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    done = capture_command([command, *arguments], cwd=cwd, env=environ, check=True)
    return done.stdout


def test_host_keys_are_checked():
    dumped = json.loads(_ansible("ansible-config", "dump", "--type", "all", "--format", "json"))
    (plugins,) = [entry["CONNECTION_PLUGINS"] for entry in dumped if "CONNECTION_PLUGINS" in entry]
    (ssh,) = [plugin["ssh"] for plugin in plugins if "ssh" in plugin]
    options = {option["name"]: option["value"] for option in ssh}
    settings = {entry["name"]: entry["value"] for entry in dumped if "name" in entry}
    assert (options["host_key_checking"], settings["HOST_KEY_CHECKING"]) == (True, True)
    assert not re.search("(?i)StrictHostKeyChecking|KnownHosts", json.dumps([options, settings], default=str))
    for inventory in ("example", "local"):
        printed = _ansible("ansible-inventory", "-i", f"inventories/{inventory}", "--list")
        assert not re.search("(?i)host_key_checking|ssh_[a-z_]*args|StrictHostKeyChecking", printed)


def test_neither_an_agent_nor_a_port_is_forwarded(tmp_path):
    """Also where our ansible.cfg is not read."""
    (tmp_path / "play.yml").write_text(
        "- hosts: localhost\n  gather_facts: false\n  roles: [{role: rekindle.flare.settings, when: false}]\n"
        "  tasks: [{ansible.builtin.debug: {msg: 'args={{ ansible_ssh_args }}'}}]\n"
    )
    (tmp_path / "collections").symlink_to(REPOSITORY / "collections")
    (args,) = re.findall(r"args=([^\"\n]*)", _ansible("ansible-playbook", "play.yml", cwd=tmp_path))
    config = tmp_path / "config"
    config.write_text(
        "Host *\n  ForwardAgent yes\n  LocalForward 1234 localhost:1\n  RemoteForward 1235 localhost:1\n"
    )
    bare, ours = (
        capture_command(["ssh", "-G", "-F", config, *more, "x"], check=True).stdout
        for more in ((), shlex.split(args))
    )
    assert re.search("(?m)^forwardagent yes$", bare)
    assert re.search("(?m)^forwardagent no$", ours)
    assert re.search("(?m)^clearallforwardings yes$", ours)


def test_nothing_that_a_user_runs_turns_the_checks_off():
    files = capture_command(["git", "ls-files"], cwd=REPOSITORY, check=True)
    printed = {
        found[0]
        for name in files.stdout.split()
        if not name.startswith(("tests/site/", "docs/")) and (REPOSITORY / name).is_file()
        for found in re.finditer(
            r"(?i)(StrictHostKeyChecking|host_key_checking|UserKnownHostsFile)[ =:]+\S+",
            (REPOSITORY / name).read_text(errors="replace"),
        )
    }
    assert printed == {"StrictHostKeyChecking yes", "UserKnownHostsFile {folder}/known_hosts"}


def test_credentials_of_an_index_are_in_no_output_and_no_record(tmp_path):
    inventory = _hosts(tmp_path, h={"ansible_become_password": CANARY, "ansible_password": CANARY})
    environ = {
        "PIP_INDEX_URL": f"https://127.0.0.1:1/p?sig={CANARY}",
        "PIP_EXTRA_INDEX_URL": f"https://me:{CANARY}@127.0.0.1:1/p?sig={CANARY}",
        "PIP_PROXY": f"me:{CANARY}@127.0.0.1:1",
        "UV_HTTP_RETRIES": "0",
        "HF_TOKEN": CANARY,
    }
    for stage in ("preflight", "plan", "environments"):
        done = play(f"playbooks/{stage}.yml", inventory, tmp_path / "r", "-vvv", **environ)
        assert CANARY not in done.output
    assert done.status != 0
    assert re.search(r"uv pip sync .* failed: .*127\.0\.0\.1:1/\S*\?\*{4}.* Fix:", _causes(done.results)["h"])
    assert leaks(tmp_path / "r") == []
    assert leaks(tmp_path / "root" / "logs") == []


REFUSED = {
    "root-blank": {"rekindle_root": "/a b"},
    "root-quote": {"rekindle_root": "/it's"},
    "root-double": {"rekindle_root": '/a"b'},
    "root-command": {"rekindle_root": "/$(touch SENTINEL)"},
    "root-backtick": {"rekindle_root": "/`touch${IFS}SENTINEL`"},
    "root-newline": {"rekindle_root": "/a\n!touch SENTINEL\n"},
    "root-semicolon": {"rekindle_root": "/a;touch"},
    "root-dash": {"rekindle_root": "-rf"},
    "tmpdir-colon": {"rekindle_tmpdir": "/a:b"},
    "tmpdir-relative": {"rekindle_tmpdir": "tmp"},
    "wheels-newline": {"rekindle_wheelhouse": "/a\n!touch SENTINEL\n"},
    "capsule-variable": {"rekindle_capsule": "$HOME/a"},
    "arguments": {"rekindle_job_arguments": {"$(touch SENTINEL)": {}}},
    "capsule-none": {"rekindle_capsule": 'it\'s "$" `touch SENTINEL`'},
    "jobs-path": {"rekindle_jobs": ["../../etc"]},
    "jobs-command": {"rekindle_jobs": ["$(touch SENTINEL)"]},
    "pins": {"rekindle_pins": {"torch": "2.0; touch SENTINEL"}},
}
NAMES = [
    "two words",
    "it's",
    '"two"',
    "$(touch SENTINEL)",
    "`touch SENTINEL`",
    "a;b",
    "-x",
    "größe",
    "$HOME",
    SAYS,
]


def _assert_nothing_was_run(tmp_path):
    places = (REPOSITORY, REPOSITORY / "playbooks", Path.home())
    assert [place for place in places if (place / "SENTINEL").exists()] == []
    assert list(tmp_path.rglob("SENTINEL")) == []


def test_values_of_an_inventory_are_text(tmp_path):
    inventory = _hosts(tmp_path, **{name: {"rekindle_root": f"{tmp_path}/größe@1"} for name in NAMES})
    results = tmp_path / 'it\'s "the" `touch SENTINEL`'
    there = ("-e", json.dumps({"rekindle_results": str(results)}))
    done = play("playbooks/preflight.yml", inventory, tmp_path / "r", *there)
    assert {path.parent.name for path in results.glob("*/host.json")} == set(NAMES)
    assert "Traceback" not in done.output
    _assert_nothing_was_run(tmp_path)


def test_values_that_would_be_more_than_text_are_refused(tmp_path):
    done = play("site.yml", _hosts(tmp_path, **REFUSED, good={}), tmp_path / "r")
    assert done.status == 4
    answer = [line.removeprefix("[ERROR]: ") for line in done.output.splitlines() if "Fix:" in line]
    assert sorted(line.partition(": ")[0] for line in answer) == sorted(REFUSED)
    assert "Traceback" not in done.output
    assert {path.name for path in tmp_path.iterdir()} == {"hosts.yml"}
    _assert_nothing_was_run(tmp_path)


def test_hosts_whose_names_are_no_folders_stop_the_run(tmp_path):
    names = ["../outside", "a/b", "/tmp/x", "payload", "two\nlines", "x" * 256]
    hosts = _hosts(tmp_path, **{name: {} for name in names}, good={})
    done = play("playbooks/preflight.yml", hosts, tmp_path / "in" / "r")
    assert done.status == 4
    for name in names:
        assert f"The inventory has a host named {name!r}, which no folder" in done.output
    assert {path.name for path in tmp_path.iterdir()} == {"hosts.yml"}


def test_what_a_host_prints_is_never_a_template(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("uname", "getconf", "nvcc"):
        (folder / name).write_text(f'#!/bin/sh\ncat <<"END"\n{SAYS}\nEND\n')
        (folder / name).chmod(0o700)
    path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    done = play("playbooks/preflight.yml", _hosts(tmp_path, h={}), tmp_path / "r", "-v", **path)
    assert done.status == 0, done.output
    answer = tmp_path / "r" / "h" / "host.json"
    host = json.loads(answer.read_text())
    assert (host["os"]["kernel"], host["os"]["architecture"]) == (SAYS, SAYS)
    evil = {"path": SAYS, "version": "3.11.2", "venv": False, "torch": None, "tensorflow": None}
    host |= {"os": {**host["os"], "architecture": "x86_64", "glibc": "2.36"}, "pythons": [evil]}
    host |= {"home": f"/{SAYS}", "user": SAYS}
    answer.write_text(json.dumps(host))
    for stage in ("plan", "environments"):
        done = play(f"playbooks/{stage}.yml", _hosts(tmp_path, h={}), tmp_path / "r", "-v")
    assert done.status != 0
    assert f'No such file or directory: b"{SAYS}"' in done.output
    _assert_nothing_was_run(tmp_path)
