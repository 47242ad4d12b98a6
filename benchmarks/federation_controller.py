# SPDX-License-Identifier: Apache-2.0
"""What a further site of a federation costs the controller, beside a ping of it, in one run.

    .venv/bin/python benchmarks/federation_controller.py        # as root; see CONTRIBUTING.md, "Test hosts"

A federation of two sites and then of four proves pt_ddp, on the lab's light hosts with built environments;
each command over new connections. CPU is of the controller's processes alone, as in fleet.py. They follow
the job while it runs, so the seconds are beside it.
"""

import tempfile
from pathlib import Path

from fleet import Cost, timed
from lab.labs import Lab
from lab.wheels import fill_wheelhouse

HOSTS = ("server", "one", "two", "three", "four")
SITES = (2, 4)
BUILD = ("playbooks/preflight.yml", "playbooks/plan.yml", "playbooks/environments.yml")


def measured(lab: Lab, sites: int, results: Path) -> dict[str, Cost]:
    """Return what a ping and a federation of so many sites cost."""
    on = ("-i", str(lab.inventory), "--limit", ",".join(HOSTS[: sites + 1]))
    prove = ("federate.yml", *on, "-e", f"rekindle_federation_min_sites={sites}", "-e", "rerun=true")
    lab.hang_up()
    ping, _ = timed("ansible", "all", "-m", "ping", *on)
    lab.hang_up()
    proof, _ = timed("ansible-playbook", *prove, "-e", f"rekindle_results={results}")
    return {"ping": ping, "federate.yml": proof}


def main() -> None:
    """Print one table, and what a further site costs."""
    lab = Lab("fed-cost", light=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            lab.up(HOSTS)
            fill_wheelhouse(lab)
            timed(
                "ansible-playbook", *BUILD, "-i", str(lab.inventory), "-e", f"rekindle_results={folder}/built"
            )
            costs = {sites: measured(lab, sites, Path(folder, str(sites))) for sites in SITES}
        finally:
            lab.down()
    print("sites  command        seconds   controller's CPU, s")
    for sites, of in costs.items():
        for name, cost in of.items():
            print(f"{sites:5}  {name:12}{cost.wall:10.1f}{cost.cpu:22.1f}")
    few, many = SITES
    further = {
        name: (costs[many][name].cpu - costs[few][name].cpu) / (many - few)
        for name in ("ping", "federate.yml")
    }
    print(f"A further site: {further['federate.yml']:.2f} s of CPU, a ping of it {further['ping']:.2f} s.")


if __name__ == "__main__":
    main()
