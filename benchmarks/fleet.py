# SPDX-License-Identifier: Apache-2.0
"""Times a fleet beside `ansible -m ping`: preflight and plan, and a complete site.yml with nothing to do.

    .venv/bin/python benchmarks/fleet.py        # as root; see CONTRIBUTING.md, "Test hosts"

On 1, 10 and 50 of the lab's light hosts, in one run and with the same forks, each command over new
connections, as a user's first is; medians of three. CPU is of the controller's processes alone, user and
system, as the kernel counts them for a process and all that it waited for; the seconds are also the hosts',
which share this machine.

Only one host is really prepared. The others begin with what is on its disk, and have its run under the
name that the run of the same job would have there: the figures are about cost and prove nothing about hosts.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from rekindle.jobs import digest_inputs
from rekindle.records import RunSpec, read_record
from rekindle.results import state

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from lab.labs import Lab  # noqa: E402 - it lies beside the tests
from lab.machine import run  # noqa: E402
from lab.wheels import fill_wheelhouse  # noqa: E402

SIZES = (1, 10, 50)
REPEATS = 3
FLEET = 1000
"""Hosts whose cost is extrapolated."""
COMMANDS = {
    "ping": ("ansible", "all", "-m", "ping"),
    "preflight and plan": ("ansible-playbook", "playbooks/preflight.yml", "playbooks/plan.yml"),
    "site.yml, nothing to do": ("ansible-playbook", "site.yml"),
}


class Cost(NamedTuple):
    """What one command took, in seconds."""

    wall: float
    cpu: float


def timed(*command: str | Path) -> tuple[Cost, str]:
    """Run ``command`` in the repository, which has to succeed; return its cost and output."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        process = subprocess.Popen(
            command, cwd=REPOSITORY, env=environ, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        took = time.monotonic() - began
        output.seek(0)
        text = output.read()
    if status != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{text[-3000:]}")
    return Cost(took, used.ru_utime + used.ru_stime), text


@contextmanager
def prepared(results: Path) -> Iterator[Path]:
    """Yield the disk of a host, switched off, on which site.yml has passed."""
    lab = Lab("fleet-model", light=True)
    try:
        lab.up(["model"])
        fill_wheelhouse(lab)
        timed("ansible-playbook", "site.yml", "-i", lab.inventory, "-e", f"rekindle_results={results}")
        lab.hang_up()
        host = lab.hosts["model"]
        host.cut_power()
        run("umount", host.root)
        yield host.folder / "upper"
    finally:
        lab.down()


@contextmanager
def fleet(disk: Path) -> Iterator[Lab]:
    """Yield as many hosts with that disk as the largest fleet has, each with a passed run of its own."""
    lab = Lab("fleet", light=True, disk=disk)
    try:
        lab.up([f"fleet-{ordinal}" for ordinal in range(1, SIZES[-1] + 1)])
        for host in lab.hosts.values():
            rekindle = host.root / "home/lease/rekindle"
            (payload,) = (rekindle / "jobs").glob("*.zip")
            (known,) = (path for path in (rekindle / "runs").iterdir() if path.is_dir())
            spec = replace(read_record(known / "spec.json", RunSpec), host=host.name)
            own = known.with_name(f"{spec.job.name}-{digest_inputs(spec, payload.name)}")
            run("cp", "-a", known, own)
            for name in ("spec.json", "verdict.json"):
                text = (own / name).read_text()
                (own / name).write_text(text.replace('"host": "model"', f'"host": "{host.name}"'))
            state.keep_spec(own.name, spec)
        yield lab
    finally:
        lab.down()


def measured(lab: Lab, size: int, command: tuple[str, ...], results: Path) -> tuple[Cost, str]:
    """Run ``command`` on the first ``size`` hosts, over new connections."""
    lab.hang_up()
    on = ("-i", lab.inventory, "--limit", f"all[0:{size - 1}]")
    cost, output = timed(*command, *on, "-e", f"rekindle_results={results}")
    if " changed=" in output and len(re.findall(r" : ok=\d+ +changed=0 ", output)) < size:
        raise SystemExit(f"Something was changed where nothing was to do:\n{output[-3000:]}")
    return cost, output


def tasks(output: str) -> int:
    """Return how many tasks the busiest host had, by the recap."""
    recaps = re.findall(r"^fleet-\d+ .*? ok=(\d+) .*? skipped=(\d+)", output, re.M)
    return max(int(ok) + int(skipped) for ok, skipped in recaps)


def show(costs: dict[int, dict[str, Cost]], recaps: dict[str, int]) -> None:
    """Print the costs in Markdown."""
    print("| hosts | | seconds | of ping | controller's CPU, s | of ping | a host |")
    print("|---|---|---|---|---|---|---|")
    for size, of_size in costs.items():
        ping = of_size["ping"]
        for name, cost in of_size.items():
            ratios = f"{cost.wall / ping.wall:.2f} | {cost.cpu:.1f} | {cost.cpu / ping.cpu:.2f}"
            print(f"| {size} | {name} | {cost.wall:.1f} | {ratios} | {cost.cpu / size:.2f} |")
    few, many = SIZES[0], SIZES[-1]
    print()
    for name in COMMANDS:
        first, last = costs[few][name], costs[many][name]
        cpu, wall = ((getattr(last, what) - getattr(first, what)) / (many - few) for what in ("cpu", "wall"))
        paper = first.cpu + cpu * (FLEET - few)
        tasks_a_host = f"{recaps[name]} tasks a host, " if name in recaps else ""
        print(
            f"{name}: {tasks_a_host}{cpu:.3f} s of CPU and {wall:.3f} s a further host; "
            f"on paper {paper / 60:.1f} min of CPU for {FLEET}"
        )


def main() -> None:
    """Print one table, and what a further host costs."""
    costs: dict[int, dict[str, Cost]] = {}
    recaps: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder, prepared(Path(folder, "model")) as disk, fleet(disk) as lab:
        for size in SIZES:
            repeats: dict[str, list[Cost]] = {name: [] for name in COMMANDS}
            for _ in range(REPEATS):
                for name, command in COMMANDS.items():
                    cost, output = measured(lab, size, command, Path(folder, name.replace(" ", "-")))
                    repeats[name].append(cost)
                    if name != "ping":
                        recaps[name] = tasks(output)
            costs[size] = {
                name: Cost(median(cost.wall for cost in taken), median(cost.cpu for cost in taken))
                for name, taken in repeats.items()
            }
    show(costs, recaps)


if __name__ == "__main__":
    main()
