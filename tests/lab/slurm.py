# SPDX-License-Identifier: Apache-2.0
"""A SLURM cluster: a lab of light hosts, of which the first is the login node and has the controller.

The others are compute nodes with two stand-in GPUs each. All have the lab's shared folder as SHARED, and the
user lease. /etc/slurm and the logs in /var/log/slurm are those of a real cluster.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from . import LabError
from .labs import Lab
from .light import LightHost
from .machine import run

NODES = ("login", "n9", "n10")
"""The compute nodes' order as text is not that of their numbers, which is SLURM's."""

SHARED = Path("/shared")

_TAKES_JOBS_WITHIN_S = 60
_SETTINGS = {
    "ClusterName": "lab",
    "SlurmUser": "slurm",
    "StateSaveLocation": "/var/lib/slurm/slurmctld",
    "SlurmdSpoolDir": "/var/lib/slurm/slurmd",
    "SlurmctldLogFile": "/var/log/slurm/slurmctld.log",
    "SlurmdLogFile": "/var/log/slurm/slurmd.log",
    "CredType": "cred/munge",
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "JobAcctGatherType": "jobacct_gather/none",
    "AccountingStorageType": "accounting_storage/none",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core",
    "SlurmdParameters": "config_overrides",  # nodes have the CPUs that they are said to have
    "PropagateResourceLimits": "NONE",
    "ReturnToService": "2",
    "GresTypes": "gpu",
    "MailProg": "/bin/true",
    "SlurmdTimeout": "30",
}
_NODE = "NodeName={name} NodeAddr={address} CPUs=8 RealMemory=16000 Gres=gpu:2\n"
_PARTITION = "PartitionName=gpu Nodes={nodes} Default=YES MaxTime=1-00:00:00\n"
_SERVICES = """\
set -eu
install -d -o munge -g munge /run/munge
runuser -u munge -- munged --force
exec {service}
"""
_RESTART_CONTROLLER = """
pkill -x slurmctld
while pgrep -x slurmctld >/dev/null; do sleep 0.05; done
slurmctld
timeout 30 sh -c 'until scontrol ping | grep -q "is UP"; do sleep 0.1; done'
"""
_SKEW_CLOCK = """
pkill -x munged
while pgrep -x munged >/dev/null; do sleep 0.05; done
export FAKETIME={seconds:+d}s LD_PRELOAD='/usr/$LIB/faketime/libfaketimeMT.so.1'
exec runuser -u munge -- munged --force
"""


class Node(LightHost):
    """A node of a cluster, with Debian's SLURM."""

    packages = ("faketime", "munge", "slurm-wlm")


class SlurmLab(Lab):
    """The cluster of that name, there or not."""

    def __init__(self, name: str = "slurm") -> None:
        """Read what is known of it.

        Raises:
            LabError: a lab cannot have that name.
        """
        super().__init__(name, light=True)
        self._kind, self._settings = Node, _SETTINGS
        self.shared = self.folder / "shared"
        """SHARED of all its nodes, as seen from here."""

    def up(self, names: Sequence[str] = NODES) -> None:
        """Have these nodes in the cluster and running; returns once all compute nodes take jobs.

        Raises:
            LabError: this machine can hold no lab, a node does not boot, or it takes no job within a minute.
        """
        super().up(names)
        ends = time.monotonic() + _TAKES_JOBS_WITHIN_S
        while not set(self.states().values()) <= {"idle", "mixed", "allocated"}:
            if time.monotonic() > ends:
                raise LabError(
                    f"Not all nodes take jobs after {_TAKES_JOBS_WITHIN_S} s: {self.states()}. "
                    f"Fix: read var/log/slurm in the roots of {self.folder}/hosts."
                )
            time.sleep(0.1)

    def states(self) -> dict[str, str]:
        """Return what SLURM says of each compute node: idle, down* …"""
        said = self.run(self._login, "sinfo --noheader --Node --format '%N %T'")
        return dict(line.split() for line in said.splitlines())

    def run(self, node: str, command: str, user: str = "lease") -> str:
        """Run a shell command on a node and return what it printed.

        Raises:
            LabError: it failed; the text has the end of what it said.
        """
        return run(*self.ssh(node, command, user=user))

    def configure(self, **settings: str) -> None:
        """Have these settings in slurm.conf, in effect at once, until another `SlurmLab` writes it."""
        self._settings = {**self._settings, **settings}
        self._furnish()
        self.run(self._login, "scontrol reconfigure", "root")

    def restart_controller(self) -> None:
        """End slurmctld, which saves its state, and start it again; returns once it answers."""
        self.run(self._login, _RESTART_CONTROLLER, "root")

    def skew_clock(self, node: str, seconds: int) -> None:
        """Set the clock by which a node's munged judges how old a credential is; 0 sets it right."""
        self.run(node, _SKEW_CLOCK.format(seconds=seconds), "root")

    def lose_shared(self, node: str) -> None:
        """Leave a node without the shared folder, until it boots again; SHARED is an empty folder there."""
        self.run(node, f"umount --lazy {SHARED}", "root")

    @property
    def _login(self) -> str:
        return next(iter(self.hosts))

    def _leased(self) -> dict[str, dict[str, object]]:
        asked = {"partition": "gpu", "nodes": 2, "gpus_per_node": 2, "time": "00:30:00"}
        return {self._login: {"rekindle_root": f"{SHARED}/rekindle", "rekindle_slurm": asked}}

    def _furnish(self) -> None:
        self.shared.mkdir(exist_ok=True)
        self.shared.chmod(0o1777)
        login, *nodes = hosts = list(self.hosts.values())
        addresses = "".join(f"{host.address} {host.name}\n" for host in hosts)
        settings = {"SlurmctldHost": f"{login.name}({login.address})", **self._settings}
        slurm = "".join(f"{name}={value}\n" for name, value in settings.items())
        slurm += "".join(_NODE.format(name=node.name, address=node.address) for node in nodes)
        slurm += _PARTITION.format(nodes=",".join(node.name for node in nodes))
        for host in hosts:
            etc = host.root / "etc"
            (etc / "hosts").write_text(f"127.0.0.1 localhost\n{addresses}")
            (etc / "fstab").write_text(f"{self.shared} {SHARED} none bind,x-mount.mkdir\n")
            (etc / "rc.local").write_text(
                _SERVICES.format(service="slurmctld" if host is login else "slurmd")
            )
            (etc / "slurm/slurm.conf").write_text(slurm)
            (etc / "slurm/gres.conf").write_text("Name=gpu File=/dev/null,/dev/zero\n")
            (etc / "slurm/cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
