# SPDX-License-Identifier: Apache-2.0
"""A user's own jobs, run by the driver on this machine and judged: honest ones, and those that lie."""

import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from run_here import start_here

from rekindle.driver.processes import read_status
from rekindle.jobs import list_sent_data, load_job
from rekindle.judge import judge_run
from runners.plays import REPOSITORY

HONEST = Path(__file__).parents[1] / "honest" / "jobs"
OWN = Path(__file__).parents[1] / "lookalikes" / "own"
JOBS = REPOSITORY / "flare_jobs"
PORT_TAKEN = "ddress already in use"


@dataclass(frozen=True)
class Edit:
    """Lines that stand before the line with ``at`` in a file of a job, or in its place."""

    file: str
    at: str
    lines: str
    instead: bool = False

    def apply(self, folder: Path) -> None:
        path = folder / self.file
        if not self.at:  # a new file
            path.write_text(self.lines + "\n")
            return
        lines = path.read_text().splitlines(keepends=True)
        (number,) = [number for number, line in enumerate(lines) if self.at in line][:1]
        indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
        new = [f"{indent}{line}\n" for line in self.lines.splitlines()]
        lines[number : number + self.instead] = new
        path.write_text("".join(lines))


def client(at, lines, instead=True):
    """Return an edit of client.py, which replaces a line unless told to stand before it."""
    return Edit("client.py", at, lines, instead)


AGGREGATOR = """
from nvflare.app_common.aggregators.model_aggregator import ModelAggregator


class Own(ModelAggregator):
    def reset_stats(self):
        self.got = []

    def accept_model(self, model):
        self.got.append(model)

    def aggregate_model(self):
        return {returns}
""".strip()


def aggregator(returns):
    """Return what gives the digits job an aggregator of its own, which makes ``returns`` of ``self.got``."""
    return (
        Edit("job.py", "from model import Net", "from aggregator import Own\nfrom model import Net", True),
        Edit("job.py", "    model=Net(),", "    model=Net(),\naggregator=Own(),", True),
        Edit("aggregator.py", "", AGGREGATOR.format(returns=returns)),
    )


JOB_OF_CLASSES = """
import argparse

from model import Net
from nvflare.app_opt.pt.job_config.{module} import {job}
{imports}

parser = argparse.ArgumentParser()
parser.add_argument("--sites", type=int, default=2)
parser.add_argument("--rounds", type=int, default=3)
args = parser.parse_args()
job = {job}(initial_model=Net(), name="digits"{arguments})
{parts}
job.simulator_run("workspace")
""".strip()
WORKFLOW = """
from nvflare.app_common.workflows.base_fedavg import BaseFedAvg


class Own(BaseFedAvg):
    def run(self):
        model = self.load_model()
        for number in range(self.num_rounds):
            model.current_round = number
            targets = self.sample_clients(self.num_clients)
            results = self.send_model_and_wait(targets=targets, data=model)
            model = self.update_model(model, self.aggregate(results, aggregate_fn=self.aggregate_fn))
        self.save_model(model)
""".strip()

STOPS = """
            losses = [result.metrics["loss"] for result in results]
            if sum(losses) / len(losses) {sign} 0.45:
                break
        self.save_model(model)
""".lstrip("\n").rstrip()


def own_workflow():
    """Return what has the digits job run a workflow of its user's own, which logs no rounds."""
    parts = """
job.to_server(Own(num_clients=args.sites, num_rounds=args.rounds))
for number in range(args.sites):
    job.to(ScriptRunner(script="client.py"), f"site-{number + 1}")
""".strip()
    imports = "from nvflare.job_config.script_runner import ScriptRunner\nfrom workflow import Own"
    job = JOB_OF_CLASSES.format(
        module="base_fed_job", job="BaseFedJob", imports=imports, arguments="", parts=parts
    )
    return (Edit("job.py", "", job), Edit("workflow.py", "", WORKFLOW))


def stops_early(sign):
    """Return what ends a workflow of its user's own once the mean loss of the sites is so beside a limit."""
    stops = WORKFLOW.replace("        self.save_model(model)", STOPS.format(sign=sign))
    return (own_workflow()[0], Edit("workflow.py", "", stops))


LATE = """
from nvflare.app_common.aggregators import InTimeAccumulateWeightedAggregator
from nvflare.app_common.shareablegenerators import FullModelShareableGenerator
from nvflare.app_common.workflows.scatter_and_gather import ScatterAndGather

job.to_server(InTimeAccumulateWeightedAggregator(expected_data_kind="WEIGHTS"), id="aggregator")
job.to_server(FullModelShareableGenerator(), id="shareable_generator")
persistor = job.comp_ids["persistor_id"]
job.to_server(
    ScatterAndGather(
        min_clients=args.sites - 1,
        num_rounds=args.rounds,
        wait_time_after_min_received=1,
        persistor_id=persistor,
    )
)
for number in range(args.sites):
    job.to(ScriptRunner(script="client.py"), f"site-{number + 1}")
""".strip()


def without_late():
    """Return what makes the digits job a ScatterAndGather that goes on without one site that is late."""
    job = JOB_OF_CLASSES.format(
        module="base_fed_job",
        job="BaseFedJob",
        imports="from nvflare.job_config.script_runner import ScriptRunner",
        arguments="",
        parts=LATE,
    )
    return Edit("job.py", "", job)


SWARM = """
import argparse

from model import Net
from nvflare.app_common.aggregators.intime_accumulate_model_aggregator import (
    InTimeAccumulateWeightedAggregator,
)
from nvflare.app_common.ccwf.ccwf_job import CCWFJob, SwarmClientConfig, SwarmServerConfig
from nvflare.app_common.ccwf.comps.simple_model_shareable_generator import SimpleModelShareableGenerator
from nvflare.app_opt.pt.file_model_persistor import PTFileModelPersistor
from nvflare.job_config.script_runner import ScriptRunner

parser = argparse.ArgumentParser()
parser.add_argument("--sites", type=int, default=3)
parser.add_argument("--rounds", type=int, default=3)
args = parser.parse_args()
sites = [f"site-{number + 1}" for number in range(args.sites)]
job = CCWFJob(name="digits", min_clients=args.sites)
job.add_swarm(
    SwarmServerConfig(
        num_rounds=args.rounds, min_clients=args.sites, aggr_clients=sites[:1], train_clients=sites[1:]
    ),
    SwarmClientConfig(
        executor=ScriptRunner(script="client.py"),
        persistor=PTFileModelPersistor(model=Net()),
        shareable_generator=SimpleModelShareableGenerator(),
        aggregator=InTimeAccumulateWeightedAggregator(expected_data_kind="WEIGHTS"),
        min_responses_required=args.sites - 1,
    ),
)
job.simulator_run("workspace", n_clients=args.sites)
""".strip()
LAST = "__import__('time').sleep(2 * (site == 2))"


def swarm():
    """Return what makes the digits job swarm learning: the first site aggregates, the others train.

    Where a site does both NVFlare may stop by itself (`doctor`: ``swarm_aggregator_aborts_itself``).
    """
    return (Edit("job.py", "", SWARM),)


GONE = {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}


def supervisor(run):
    """Return the driver's process of a run."""
    return next(
        process for process in psutil.process_iter(["cmdline"]) if str(run) in (process.info["cmdline"] or [])
    )


def wait_for_end(run, driver, limit_s):
    """Wait for the end of a run, or of its driver."""
    ends = time.monotonic() + limit_s
    while not (run / "ended.json").exists() and read_status(driver) not in GONE:
        assert time.monotonic() < ends, f"{run}: no end within {limit_s} s"
        time.sleep(0.05)


def end_driver(driver):
    """End a driver whose run has ended: what is left to it is the blame ladder."""
    with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
        driver.terminate()
        driver.wait(60)


def first_verdict(job, jobs, host_records, work, others):
    """Run a job here and return its first verdict, without the blame ladder."""
    assert start_here(job, jobs, host_records, work, others) is None
    run = work / "run"
    driver = supervisor(run)
    wait_for_end(run, driver, job.limit_s + 120)
    end_driver(driver)
    return judge_run(run)


@dataclass(frozen=True)
class OwnJob:
    """A job of ``HONEST`` or ``OWN``, as it is or edited, and the verdict that it has to get."""

    name: str
    base: str
    edits: tuple[Edit, ...] = ()
    verdict: str = "PASS"
    check: str = ""
    """Which check sees the lie."""
    cause: str = ""
    """What its cause has to say."""
    fields: tuple[tuple[str, object], ...] = ()
    """Of its job.yml, that are others."""

    def run(self, host_records: Path, work: Path):
        """Return the verdict on a run of the job."""
        folder = work / self.name
        (base,) = [jobs / self.base for jobs in (HONEST, OWN) if (jobs / self.base).exists()]
        shutil.copytree(base, folder)
        for edit in self.edits:
            edit.apply(folder)
        for name, value in self.fields:
            Edit("job.yml", f"{name}:", f"{name}: {value}", instead=True).apply(folder)
        job = load_job(JOBS, str(folder))
        others = {job.name: folder, **list_sent_data(job, folder)}
        verdict = first_verdict(job, JOBS, host_records, work, others)
        if PORT_TAKEN in (verdict.cause or ""):
            # NVFlare's simulator chooses ports that are free, which another job here may take before it does.
            verdict = first_verdict(job, JOBS, host_records, work / "again", others)
        return verdict
