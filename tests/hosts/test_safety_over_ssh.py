# SPDX-License-Identifier: Apache-2.0
"""A host that is not what it seems, over SSH: another's key, and lies about what it packed."""

import json
import re
import subprocess

import pytest
from runners.commands import capture_command
from runners.leaks import leaks
from runners.plays import OWN_PLAYBOOK, REPOSITORY, play

from rekindle.records import PlacedRecord, RunSpec, read_record, write_record

RUN = REPOSITORY / "tests/recordings/runs/pt_ddp-cpu-2"
COLLECT = """
- hosts: first
  gather_facts: false
  tasks:
    - rekindle.flare.collect_run: {job: pt_ddp, python: /home/lease/evil, home: %s}
"""
LIES = r"""#!/bin/sh
: >"/tmp/a'\"'"
echo none >"$4"
printf '%%s\n' "/tmp/a\\'\" %s/stolen" '!touch %s/run-here #'
"""
"""As a line of sftp's batch, what it prints fetches a file to any place, and runs a command, here."""


def _swapped(known):
    """Have each host's key known as the other's."""
    addresses, keys = zip(*(line.split(" ", 1) for line in known.splitlines()), strict=True)
    return "".join(f"{address} {key}\n" for address, key in zip(addresses, reversed(keys), strict=True))


UNKNOWN = r"ssh does not know the host key.* Fix: ssh-keyscan -H "
WRONG_KEYS = {
    "another's": (_swapped, rf"The host key of .* Fix: .*ssh-keygen -R |{UNKNOWN}"),
    "nobody's": (lambda known: "", UNKNOWN),
}


@pytest.mark.parametrize("whose", WRONG_KEYS)
def test_a_host_with_anothers_key_or_an_unknown_one_is_refused(pair, tmp_path, whose):
    change, refused = WRONG_KEYS[whose]
    known = pair.folder / "known_hosts"
    right = known.read_text()
    known.write_text(change(right))
    pair.hang_up()
    try:
        done = play("playbooks/preflight.yml", pair.inventory, tmp_path / "r", "-e", "ansible_ssh_retries=0")
    finally:
        known.write_text(right)
    assert done.status != 0
    rows = json.loads((tmp_path / "r" / "results.json").read_text())["rows"]
    assert {row["host"]: row["verdict"] for row in rows} == dict.fromkeys(pair.hosts, "SKIPPED")
    assert not list((tmp_path / "r").glob("*/host.json"))
    assert all(re.search(refused, row["cause"]) for row in rows)


def test_what_a_host_prints_is_no_command_and_names_no_file_here(pair, tmp_path):
    evil = LIES % (tmp_path, tmp_path)
    put = pair.ssh("first", "cat >evil; chmod +x evil")
    subprocess.run(put, input=evil, text=True, check=True)
    playbook = tmp_path / "collect.yml"
    home = tmp_path / "home"
    spec = read_record(RUN / "spec.json", RunSpec)
    placed = PlacedRecord(run="/home/lease/evil-run", payload="/none", spec=spec, at="2026-11-25T22:28:00Z")
    write_record(home / "pt_ddp.placed.json", placed)
    playbook.write_text(COLLECT % home)
    done = play(playbook, pair.inventory, tmp_path / "r", **OWN_PLAYBOOK)
    assert re.search(r"cannot be unpacked.* Fix: collect it again", " ".join(done.output.split()))
    assert {path.name for path in tmp_path.iterdir()} == {"collect.yml", "home"}
    assert [path.name for path in home.iterdir()] == ["pt_ddp.placed.json"]
    left = capture_command(pair.ssh("first", "ls evil-run*; rm evil"))
    assert left.stdout == ""


def test_no_secret_of_a_host_comes_home_or_into_a_log(site, pair):
    assert "CANARY" not in site.output
    assert leaks(site.results) == []
    for host in pair.hosts.values():
        root = host.root / "home/lease/rekindle"
        assert [leak for folder in ("runs", "logs", "jobs") for leak in leaks(root / folder)] == []
        assert leaks(host.root / "home/lease/.aws")


def test_what_a_run_leaves_on_a_host_is_for_its_owner_alone(site, pair):
    there = [root for host in pair.hosts.values() if (root := host.root / "home/lease/rekindle").exists()]
    assert there  # one of the two may be retired by now
    for root in there:
        paths = [
            root,
            *(
                path
                for folder in ("runs", "logs", "jobs")
                for path in [root / folder, *(root / folder).rglob("*")]
            ),
        ]
        assert [path for path in paths if not path.is_symlink() and path.stat().st_mode & 0o077] == []
