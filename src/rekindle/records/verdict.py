# SPDX-License-Identifier: Apache-2.0
"""``verdict.json``: the verdict on one job's run, and its evidence."""

from typing import Literal

from .acceptance import ACCEPTANCE
from .action import Action
from .base import Few, Integer, Many, Number, Record, Seconds, Table, Text, Timestamp
from .fabric import FABRIC
from .finding import Finding, Layer, Rung

VerdictKind = Literal["PASS", "FAIL", "HUNG", "UNPROVEN", "UNSUPPORTED", "SKIPPED", "KNOWN_ISSUE"]

CheckState = Literal["holds", "fails", "unknown", "not applicable"]
"""``unknown``: the files do not show it; ``not applicable``: the run lacks the subject, as a GPU on CPU."""


class ClaimResult(Record, kw_only=True, frozen=True):
    """One check, its state, and the line of evidence that shows it."""

    claim: Text
    state: CheckState
    message: Text
    file: Text | None = None
    """Relative to the run's folder."""
    line: Integer | None = None
    sha256: Text | None = None


class Device(Record, kw_only=True, frozen=True):
    """What one rank of one site ran on."""

    site: Text
    rank: Integer
    device: Text
    """``cuda:0`` as the rank itself counts, or ``cpu``."""
    uuid: Text | None = None
    name: Text | None = None
    mean_utilisation: Number | None = None
    """Percent, mean of the samples in which this rank held memory there."""
    peak_memory_mib: Integer | None = None


class JobRound(Record, kw_only=True, frozen=True):
    """One site's round as its rank 0 reported it."""

    round: Integer
    site: Text
    loss: Number | None
    metrics: Table[Number]
    """Of the received global model, on held-out data."""
    samples: Integer
    seconds: Seconds
    bytes_in: Integer | None = None
    bytes_out: Integer | None = None
    """Size of the weights that the site received, and of those that it sent."""
    late_s: Seconds | None = None
    """From the first result of the round, as the server got it, to this one."""


class VerdictRecord(Record, kw_only=True, frozen=True):
    """The verdict on one run of one job on one host."""

    schema: Literal["rekindle/verdict/2"] = "rekindle/verdict/2"
    job: Text
    host: Text
    verdict: VerdictKind
    nonce: Text | None = None
    """Of the run; None if nothing was run, or Rekindle did not start it."""
    required: bool = True
    """Whether the playbook passes only with this."""
    cause: Text | None
    """One sentence; None for PASS."""
    remedy: Text | None
    action: Action | None = None
    """What acceptance asks the host's operator for; None of any other job."""
    layer: Layer | None = None
    findings: Few[Finding] = ()
    """The root cause first, then its echoes."""
    rungs: Few[Rung] = ()
    """The blame ladder of a job that failed, from the bottom up."""
    known_issue: Text | None = None
    """Name of the known issue that applies here, also when the job passed in spite of it."""
    evidence: Few[ClaimResult]
    started: Timestamp | None
    duration_s: Seconds | None
    waited_s: Seconds | None = None
    """In the queue of a batch system before that."""
    lock_sha256: Text | None
    lost: Table[Integer] = {}
    """Sites that it went on without, with the round in which they left, from 0; -1 for never joined."""
    versions: Table[Text]
    """Versions of python, torch, nvflare …, and the GPUs' ``driver``."""
    devices: Few[Device]
    rounds: Many[JobRound]
    final_metrics: Table[Number] = {}
    """Of the final global model, on held-out data."""
    host_memory_mib: Table[Integer] = {}
    """Peak of NVFlare's own processes: ``server``, and each client by its site's name."""

    @property
    def blamed(self) -> Rung | None:
        """The lowest rung of the blame ladder that fails."""
        return next((rung for rung in self.rungs if rung.state == "fails"), None)

    def flaw(self, host: str, job: str) -> str | None:
        """Return why this is not a valid verdict on ``job`` of ``host``; None if it is."""
        if (self.host, self.job) != (host, job):
            return f"It is of {self.job} on {self.host}."
        if self.verdict != "PASS":
            return None
        states = {result.state for result in self.evidence}
        if "holds" not in states or states - {"holds", "not applicable"}:
            return "It is PASS without evidence that every claim holds."
        measured = self.job in {*ACCEPTANCE.values(), FABRIC}
        if self.started is None or self.duration_s is None or not (self.rounds or measured):
            return "It is PASS for a job that never ran."
        return (
            None if self.cause is None and self.remedy is None else "It is PASS and has a cause of failure."
        )


def make_bare_verdict(
    job: str, host: str, verdict: VerdictKind, cause: str | None, remedy: str | None
) -> VerdictRecord:
    """Return a verdict without what the judge finds in a run: there is none, or it is no job's."""
    return VerdictRecord(
        job=job,
        host=host,
        verdict=verdict,
        cause=cause,
        remedy=remedy,
        evidence=(),
        started=None,
        duration_s=None,
        lock_sha256=None,
        versions={},
        devices=(),
        rounds=(),
    )
