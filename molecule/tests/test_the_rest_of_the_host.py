# SPDX-License-Identifier: Apache-2.0
"""What holds of a host after every role."""

import re

SYSTEMS_OWN = re.compile(
    r"/(run|var/log|var/lib/systemd|var/lib/sudo|var/lib/dbus|etc/machine-id|var/tmp/systemd|tmp/systemd)"
)
OURS = re.compile(r"/home/lease/rekindle(/|$)")


def test_nothing_changed_outside_the_root_folder(host):
    # where this user cannot enter it can have changed nothing, and find would fail
    closed = "-type d '(' ! -readable -o ! -executable ')' -prune"
    since_it_was_made = f"find / -xdev {closed} -o -type f -newer /etc/ssh/ssh_host_ed25519_key.pub -print"
    changed = host.check_output(since_it_was_made).splitlines()
    assert [path for path in changed if not SYSTEMS_OWN.match(path) and not OURS.match(path)] == []


def test_no_process_is_left(host):
    own = re.compile(r"^(sshd|ps|bash|sh|sftp-server)\b")
    left = [line for line in host.check_output("ps -u lease -o comm=").splitlines() if not own.match(line)]
    assert left == []
