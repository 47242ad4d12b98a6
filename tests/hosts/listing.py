# SPDX-License-Identifier: Apache-2.0
"""Everything that is on a host's disk, to be compared with what is there later."""

import re

from runners.commands import capture_command

SYSTEMS_OWN = re.compile(
    r"/(run|var/log|var/lib/systemd|var/lib/sudo|var/lib/dbus|etc/machine-id|var/tmp/systemd|tmp/systemd)"
)


def listing(lab, host):
    """Return path, type and mode of everything, and size and time of all but folders."""
    find = "find / /dev/shm -xdev '(' -type d -printf '%p\\t%y %m\\n' -o -printf '%p\\t%y %m %s %T@\\n' ')'"
    done = capture_command(lab.ssh(host, find, user="root"), check=True)
    return {line for line in done.stdout.splitlines() if not SYSTEMS_OWN.match(line)}
