# SPDX-License-Identifier: Apache-2.0
"""``python -m lab up|slurm|wheels|gpus|ssh|down``: see ``make lab-up`` and ``make slurm-up``."""

import argparse
import os
import sys

from . import LabError
from .gpus import FAULTS, give_gpus
from .labs import Lab
from .slurm import NODES, SlurmLab
from .wheels import fill_wheelhouse


def main() -> int:
    """Run the verb that the command line names."""
    parser = argparse.ArgumentParser(prog="lab", description=__doc__)
    parser.add_argument("--lab", default="lab", help="name of the lab")
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="boot hosts, and write their inventory")
    up.add_argument("hosts", nargs="+", help="a number of hosts, or their names")
    slurm = verbs.add_parser("slurm", help="boot a SLURM cluster, and write the inventory of its login node")
    slurm.add_argument(
        "hosts", nargs="*", default=NODES, help="the names of its login node and of the others"
    )
    verbs.add_parser("wheels", help="collect what the hosts' environments are built from")
    verbs.add_parser("down", help="leave nothing of the lab")
    ssh = verbs.add_parser("ssh", help="a shell on a host, or a command there")
    ssh.add_argument("host", help="NAME for the user lease, or root@NAME")
    ssh.add_argument("command", nargs=argparse.REMAINDER)
    gpus = verbs.add_parser("gpus", help="a stand-in nvidia-smi on a host")
    gpus.add_argument("host")
    gpus.add_argument("fault", nargs="?", choices=FAULTS, help="what is wrong with its GPUs")
    args = parser.parse_args()
    try:
        lab = SlurmLab(args.lab) if args.verb == "slurm" else Lab(args.lab)
        if args.verb in {"up", "slurm"}:
            lab.up(NODES if args.verb == "slurm" else _names(args.lab, args.hosts))
            for host in lab.hosts.values():
                print(f"{host.name} {host.address}")
            print(lab.inventory)
        elif args.verb == "wheels":
            fill_wheelhouse(lab)
        elif args.verb == "down":
            lab.down()
        else:
            user, _, name = args.host.rpartition("@")
            if name not in lab.hosts:
                there = ", ".join(lab.hosts) or "none"
                raise LabError(f"{name} is no host of {args.lab}, there: {there}. Fix: make lab-up.")
            if args.verb == "gpus":
                give_gpus(lab.hosts[name], args.fault)
            else:
                command = lab.ssh(name, *args.command, user=user or "lease")
                os.execvp(command[0], command)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _names(lab: str, hosts: list[str]) -> list[str]:
    if len(hosts) == 1 and hosts[0].isdigit():
        return [f"{lab}-{ordinal}" for ordinal in range(1, int(hosts[0]) + 1)]
    return hosts


if __name__ == "__main__":
    sys.exit(main())
