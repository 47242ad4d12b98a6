# SPDX-License-Identifier: Apache-2.0
"""A repository of throwaway playbooks, under a real ansible-playbook with the callback."""

import json
import os
import shutil
import sys
from pathlib import Path

from runners.commands import capture_command

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


def make_repository(folder):
    """Return ``folder`` with playbooks and roles whose hosts leave in every way."""
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
    """Run ansible-playbook in the repository and return its output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE", "REKINDLE"))}
    inventory = () if "-i" in arguments else ("-i", "inventory.yml")
    done = capture_command(
        [Path(sys.executable).with_name("ansible-playbook"), *inventory, *arguments],
        cwd=repository,
        env={**kept, "COLUMNS": "200", **environ},
        timeout=120,
    )
    return done.stdout + done.stderr


def latest(results):
    """Return the only run in a folder of runs, to which its link leads."""
    (folder,) = (path for path in results.iterdir() if not path.is_symlink())
    assert (results / "latest").readlink() == Path(folder.name)
    return folder


def rows(folder):
    return {row["host"]: row for row in json.loads((folder / "results.json").read_text())["rows"]}
