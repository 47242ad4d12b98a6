# SPDX-License-Identifier: Apache-2.0
"""What there is of a lab on this machine."""

from pathlib import Path

import psutil
from lab import STATE
from lab.machine import cgroups


def traces(lab):
    """Return the files, mounts and processes of the lab."""
    found = [
        line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f"/{lab.name}/" in line
    ]
    found += [str(path) for path in STATE.glob(f"{lab.name}*")]
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if f"/{lab.name}/" in line:
            found.append(line)
    return found


def kernel(number):
    """Return the names of all links, network namespaces, cgroups and nspawn's folders of a lab's number."""
    trees = (cgroups(), Path("/sys/fs/cgroup/systemd"))
    return (
        {path.name for path in Path("/sys/class/net").glob(f"rekindle{number}*")},
        {path.name for path in Path("/run/netns").glob(f"rekindle-{number}-*")},
        {str(path) for tree in trees for path in tree.glob(f"rekindle-lab/{number}-*/**")},
        {str(path) for path in Path("/run/systemd/nspawn").glob(f"*/rekindle-{number}-*")},
    )
