# SPDX-License-Identifier: Apache-2.0
"""Rounds of a federation over TLS beside NVFlare's simulator on this machine, and the way to the first one.

    .venv/bin/python benchmarks/federation.py

Server and sites are hosts with folders of their own on this machine, connected by loopback: no GPU, no lab.
Every size is exchanged by the same recipe in both, in turn; a round is from one "Round … started" of the
server's to the next, median over all but the first. Environments are built before anything is timed.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

from rekindle.flare.log import read_records
from rekindle.flare.workspace import SERVER, find_workspaces
from rekindle.records import VerdictRecord, read_record

REPOSITORY = Path(__file__).parents[1]
SIZES_MB, ROUNDS, SITES, PORT = (1, 100, 500), 4, (2, 4), 18102
BUILD = "playbooks/preflight.yml playbooks/plan.yml playbooks/environments.yml"
JOB = """---
schema: rekindle/job/1
summary: Exchanges {size} MB
environment: torch
example: {{command: [job.py, --sites, "{{sites}}", --rounds, "{{rounds}}"]}}
sites: {sites}
ranks_per_site: 1
rounds: {rounds}
when_short_of_gpus: share
limit_s: 900
proof: [{{claim: every_site_trained}}, {{claim: every_site_took_part}}, {{claim: rounds_completed}}]
"""
RECIPE = """import argparse

from net import Net
from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.recipe import SimEnv

parser = argparse.ArgumentParser()
parser.add_argument("--sites", type=int)
parser.add_argument("--rounds", type=int)
args = parser.parse_args()
recipe = FedAvgRecipe(
    name="exchange", model=Net(), min_clients=args.sites, num_rounds=args.rounds, train_script="client.py"
)
recipe.execute(SimEnv(num_clients=args.sites))
"""
NET = """import torch

VALUES = {values}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.parts = torch.nn.ParameterList(torch.randn(VALUES // 8) for _ in range(8))
"""
CLIENT = """import nvflare.client as flare

flare.init()
while flare.is_running():
    model = flare.receive()
    step = 0.01 * (1 + sum(map(ord, flare.get_site_name())) % 7)
    params = {name: value * (1 - step) for name, value in model.params.items()}
    meta = {"NUM_STEPS_CURRENT_ROUND": 1}
    flare.send(flare.FLModel(params=params, meta=meta, metrics={"loss": 1.0 - step}))
"""


def job(folder: Path, size: int, sites: int) -> Path:
    """Write the job that exchanges ``size`` MB, and return its job.yml."""
    folder.mkdir()
    (folder / "job.py").write_text(RECIPE)
    (folder / "client.py").write_text(CLIENT)
    (folder / "net.py").write_text(NET.format(values=size * 1_000_000 // 4))
    (folder / "job.yml").write_text(JOB.format(size=size, sites=sites, rounds=ROUNDS))
    return folder / "job.yml"


def inventory(folder: Path, sites: int) -> Path:
    """Write an inventory of a server and so many sites, and return it."""
    names = [f"host-{number}" for number in range(1, sites + 1)]
    content = {
        "all": {
            "vars": {
                "ansible_connection": "local",
                "rekindle_accept": "off",
                "rekindle_gpus_required": False,
                "rekindle_min_free_gb": 2,
                "rekindle_root": f"{folder}/{{{{ inventory_hostname }}}}",
                "rekindle_federation_address": "127.0.0.1",
                "rekindle_federation_port": PORT,
            },
            "children": {
                "flare_server": {"hosts": {"server": {}}},
                "flare_sites": {"hosts": {name: {} for name in names}},
            },
        }
    }
    file = folder / f"{sites}.json"
    file.write_text(json.dumps(content))
    return file


def played(playbooks: str, hosts: Path, results: Path, *more: str) -> float:
    """Run playbooks, which have to succeed; returns their seconds."""
    command = [str(Path(sys.executable).parent / "ansible-playbook"), *playbooks.split(), "-i", str(hosts)]
    began = time.monotonic()
    done = subprocess.run(
        [*command, "-e", f"rekindle_results={results}", *more],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{playbooks} failed:\n{done.stdout[-3000:]}")
    return time.monotonic() - began


def round_s(run: Path) -> float:
    """Return the median seconds of the rounds after the first, by the server's log."""
    pattern = re.compile(r"Round \d+ started|Finished FedAvg")
    records = read_records(find_workspaces(run)[0], SERVER)
    starts = [record.time for record in records if any(map(pattern.search, record.more))]
    return median(end - start for start, end in pairwise(starts[1:]))


def peak_mib(run: Path) -> int:
    """Return the most memory that NVFlare's server and its job took."""
    return read_record(run / "verdict.json", VerdictRecord).host_memory_mib.get("server", 0)


def main() -> None:
    """Print two tables."""
    with tempfile.TemporaryDirectory(prefix="federation-") as name:
        folder = Path(name)
        print("sites  from built environments to the first proven job, s")
        for sites in SITES:
            hosts = inventory(folder, sites)
            played(BUILD, hosts, folder / f"built-{sites}")
            jobs = json.dumps({"rekindle_federation_jobs": ["pt_ddp"]})
            print(f"{sites:5}  {played('federate.yml', hosts, folder / f'first-{sites}', '-e', jobs):6.0f}")
        print("MB    simulator, s   federation, s   ratio   server's memory, MiB: simulator, federation")
        for size in SIZES_MB:
            described = str(job(folder / f"exchange_{size}", size, SITES[0]))
            hosts, alone, together = folder / f"{SITES[0]}.json", folder / f"s{size}", folder / f"f{size}"
            simulated = json.dumps({"rekindle_jobs": [described]})
            federated = json.dumps({"rekindle_federation_jobs": [described]})
            played("site.yml", hosts, alone, "-e", simulated, "--limit", "server")
            played("federate.yml", hosts, together, "-e", federated)
            runs = alone / "server" / f"exchange_{size}", together / "federations" / f"exchange_{size}"
            simulator, federation = map(round_s, runs)
            memory = ", ".join(map(str, map(peak_mib, runs)))
            ratio = federation / simulator
            print(f"{size:<5} {simulator:12.2f} {federation:15.2f} {ratio:7.2f}   {memory}")
        for sites in SITES:
            played("playbooks/retire.yml", folder / f"{sites}.json", folder / "ended")


if __name__ == "__main__":
    main()
