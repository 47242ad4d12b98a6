# SPDX-License-Identifier: Apache-2.0
"""The verdict on each host's place in the fabric."""

from collections.abc import Iterator, Sequence
from statistics import median

from msgspec.structs import replace

from rekindle.records import ClaimResult, VerdictRecord, make_bare_verdict
from rekindle.records.action import pick_severest
from rekindle.records.fabric import FABRIC, FabricRecord

from .groups import find_rate
from .judgement import judge_fabric
from .pairs import FabricFlaw, list_transports

_NOT_MEASURED = "The measurement between hosts left no record: its first host was lost, or its port is taken."
_AGAIN = "See conductor.log and player.log in logs/fabric of its root, and run fabric.yml again."


def judge_hosts(record: FabricRecord) -> Iterator[VerdictRecord]:
    """Yield the verdict on each host: PASS unless a flaw names it, by itself or as one end of a link.

    A host has the flaws of its allocation's nodes.
    """
    flaws = judge_fabric(record)
    machines = {record.host: {*record.hosts}} if record.host else {host: {host} for host in record.hosts}
    for host, its in machines.items():
        own = [flaw for flaw in flaws if its.intersection(flaw.hosts) and flaw.verdict]
        looks = [look for look in record.looks if its.intersection(look.hosts) and look.outcome == "measured"]
        if not looks and not own:
            yield make_unmeasured(host)
            continue
        pairs = [look for look in looks if look.is_pair]
        rates = [rate for look in pairs if (rate := find_rate(look)) is not None]
        delays = [look.latency_us for look in pairs if look.latency_us is not None]
        metrics = {"all_reduce_gb_s": median(rates)} if rates else {}
        metrics |= {"latency_us": median(delays)} if delays else {}
        transports = list_transports(looks)
        over = f", over {' and '.join(transports)}" if transports else ""
        measured = ClaimResult(
            claim="fabric_measured",
            state="holds" if looks else "fails",
            message=f"{len(looks)} measurements of {len(record.hosts)} machines gave results{over}.",
        )
        cause, remedy = (own[0].message, own[0].remedy) if own else (None, None)
        yield replace(
            make_bare_verdict(FABRIC, host, "FAIL" if own else "PASS", cause, remedy),
            action=pick_severest(flaw.action for flaw in own) if own else None,
            layer="network" if own else None,
            evidence=(measured, *_claims(own)),
            started=record.started,
            duration_s=record.seconds,
            final_metrics=metrics,
        )


def make_unmeasured(host: str) -> VerdictRecord:
    """Return the verdict on a host of which nothing is known."""
    return make_bare_verdict(FABRIC, host, "UNPROVEN", _NOT_MEASURED, _AGAIN)


def _claims(flaws: Sequence[FabricFlaw]) -> Iterator[ClaimResult]:
    if not flaws:
        yield ClaimResult(
            claim="fabric_as_others", state="holds", message="Nothing is wrong with it or with a link of it."
        )
    for flaw in flaws:
        yield ClaimResult(claim=f"fabric_{flaw.kind}", state="fails", message=flaw.message)
