# SPDX-License-Identifier: Apache-2.0
"""Real hosts on this machine, without a container engine: `python -m lab` and its modules.

Each has a root file system, a network namespace and an address of its own, systemd as process 1, and sshd.
They have no way out: what is installed on them comes from the wheelhouse.

    /var/cache/rekindle-lab/    what all labs share: the base root file system, the wheelhouse, locks
    /var/lib/rekindle-lab/LAB/  one lab: its key, ssh_config, hosts.yml (an inventory) and hosts
"""

from pathlib import Path

CACHE = Path("/var/cache/rekindle-lab")
STATE = Path("/var/lib/rekindle-lab")


class LabError(RuntimeError):
    """A lab cannot be had here; the text is one sentence and its fix."""
