# SPDX-License-Identifier: Apache-2.0
"""Results folders as a run leaves them, built from the records."""

from pathlib import Path

from msgspec.structs import replace

from rekindle.records import (
    Build,
    ClaimResult,
    Command,
    Complaint,
    Device,
    Engine,
    FailedProbe,
    Gpu,
    HostRecord,
    JobRound,
    Outcome,
    PlacedRecord,
    PlannedEnvironment,
    PlanRecord,
    PlaybookRecord,
    Reason,
    RunSpec,
    VerdictRecord,
    read_record,
    write_record,
)
from rekindle.results.contents import gather_results

RECORDINGS = Path(__file__).parents[1] / "recordings"
NOW = "2026-11-21T02:00:00Z"
SHA = "0123456789abcdef" * 4
NOTHING = {"host": None, "plan": None, "verdict": None}
"""Records of a host that has none, for `add_host`."""
LEFT = "The lease ended. Fix: lease the host again."

HOST = replace(
    read_record(RECORDINGS / "h200-x2" / "host.json", HostRecord),
    host="gpu-1",
    pythons=(),
    engines=(Engine(name="podman", path="/usr/bin/podman", version="4.3.1", cdi=True),),
    gpus=tuple(
        Gpu(
            index=n,
            state="ok",
            name="NVIDIA H200",
            uuid=f"GPU-{n}",
            compute_capability="9.0",
            memory_total_mib=143771,
        )
        for n in range(4)
    ),
    pci_gpus=4,
    topology=(),
    problems=(FailedProbe(name="dcgmi", message="missing"),),
)

PLAN = PlanRecord(
    host="gpu-1",
    made=NOW,
    nvflare="2.7.3",
    environments=(
        PlannedEnvironment(
            framework="torch",
            build=Build(
                framework="torch",
                version="2.15.0",
                variant="cu132",
                cuda="13.2",
                python="/usr/bin/python3.12",
                python_version="3.12.3",
                lock="torch.txt",
                lock_sha256=SHA,
            ),
            reasons=(Reason(axis="driver", holds=True, message="Driver 580.159.04 runs CUDA 13.2."),),
            warnings=("The host's Python is old.",),
        ),
    ),
    jobs=("pt_ddp",),
)

PASS = VerdictRecord(
    job="pt_ddp",
    host="gpu-1",
    verdict="PASS",
    cause=None,
    remedy=None,
    evidence=(
        ClaimResult(
            claim="loss_falls",
            state="holds",
            message="The loss fell: site-1 2.17 → 0.01.",
            file="evidence/site-1.rank-0.jsonl",
            line=4,
            sha256=SHA,
        ),
        ClaimResult(claim="no_error_logged", state="holds", message="The server's error log has 0 bytes."),
    ),
    started=NOW,
    duration_s=200.4,
    lock_sha256=SHA,
    versions={"torch": "2.15.0", "nvflare": "2.7.3"},
    devices=tuple(
        Device(
            site=f"site-{1 + n // 2}",
            rank=n % 2,
            device=f"cuda:{n % 2}",
            uuid=f"GPU-{n}",
            name="NVIDIA H200",
            mean_utilisation=87.3333333,
            peak_memory_mib=2048,
        )
        for n in range(4)
    ),
    rounds=tuple(
        JobRound(
            round=n,
            site=site,
            loss=1 / (n + 1) + shift,
            metrics={"accuracy": 0.3 * n + 0.1},
            samples=5760,
            seconds=0.8,
        )
        for site, shift in (("site-1", 0.0), ("site-2", 0.1))
        for n in range(3)
    ),
    final_metrics={"accuracy": 0.9667},
)

FAIL = replace(
    PASS,
    host="gpu-2",
    verdict="FAIL",
    cause="Final accuracy 0.4; at least 0.95 is required.",
    remedy="Train longer.",
    evidence=(
        ClaimResult(
            claim="metric_reached", state="fails", message="Final accuracy 0.4; at least 0.95 is required."
        ),
    ),
)


def fill_accepted(folder, *records, hosts=()):
    """Fill a results folder with the acceptance of hosts, and with further hosts that have none."""
    fill(folder, *(record.host for record in records), *hosts)
    for record in records:
        write_record(folder / record.host / "acceptance.json", record)
    for name in hosts:
        write_record(folder / name / "host.json", replace(HOST, host=name))
    return folder


def typed(folder, *hosts, words=("rekindle", "site", "-i", "lease_hosts")):
    """Return for run.json what was typed for each host."""
    return dict.fromkeys(hosts, Command(words=words, folder=str(Path.cwd()), results=str(folder)))


def fill(folder, *hosts, started=NOW, **more):
    """Write run.json, of a playbook with these hosts."""
    more.setdefault("typed", typed(folder, *hosts))
    write_record(folder / "run.json", PlaybookRecord(run=folder.name, started=started, hosts=hosts, **more))
    return folder


def add_host(  # noqa: PLR0913 - each record of a host can be left out
    folder, name, *, host=HOST, plan=PLAN, verdict=PASS, left=None, state="failed"
):
    """Write the records of one host."""
    if host:
        write_record(folder / name / "host.json", replace(host, host=name))
    if plan:
        write_record(folder / name / "plan.json", replace(plan, host=name))
    if verdict:
        write_record(folder / name / verdict.job / "verdict.json", replace(verdict, host=name))
    if left:
        why = Complaint.parse(left)
        write_record(
            folder / name / "outcome.json",
            Outcome(host=name, stage="validate", state=state, message=why.message, fix=why.fix),
        )


def add_placed(folder, job, spec, at=NOW):
    """Write that a run was sent to a host, whose ``folder`` it is, as that job, by the spec in that file."""
    sent = read_record(spec, RunSpec)
    sent = replace(sent, host=folder.name, job=replace(sent.job, name=job))
    if spec.is_relative_to(folder):
        write_record(spec, sent)
    placed = PlacedRecord(run="/r", payload="/p", spec=sent, at=at)
    write_record(folder / f"{job}.placed.json", placed)


def three_hosts(folder):
    """Return a folder with a PASS, a FAIL, and a host of which nothing came home."""
    fill(folder, "gpu-1", "gpu-2", "gpu-3")
    add_host(folder, "gpu-1")
    add_host(folder, "gpu-2", verdict=FAIL)
    return folder


def rows(folder):
    return [(row.host, row.job, row.kind) for row in gather_results(folder).rows]
