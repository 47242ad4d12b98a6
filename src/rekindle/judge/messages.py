"""Claims on what goes between sites and server: how large, streamed, quantised."""

from __future__ import annotations

import re
from typing import Any

from rekindle.records import Evidence

from .run import Run
from .validators import validator


@validator
def bytes_exchanged(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """Every site told the size of its weights both ways in every round.

    Option ``at_most_share``: of the whole model's bytes, which adapters alone stay below.
    """
    whole = run.final.event.model_bytes if run.final else None
    if not whole:
        return run.evidence(claim, None, "job.py did not tell the model's size.", run.final)
    bar = float(options.get("at_most_share", 1.0))
    rounds = [one for site in run.spec.sites for one in run.rounds(site.name, 0)]
    if not rounds:
        return run.evidence(claim, None, "No site reported a round.")
    for one in rounds:
        where = f"in round {one.event.round}"
        if not (one.event.bytes_in and one.event.bytes_out):
            return run.evidence(claim, None, f"{one.event.site} told no size {where}.", one)
        size = max(one.event.bytes_in, one.event.bytes_out)
        if size > bar * whole:
            says = f"{one.event.site} exchanged {size} bytes {where} of a model of {whole}."
            return run.evidence(claim, False, says, one)
    says = f"{size / 1e6:.2f} MB each way, a site and round, of a model of {whole / 1e6:.2f} MB."
    return run.evidence(claim, True, says, rounds[-1])


@validator
def tensors_streamed(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """The server's log shows each site's tensors produced and consumed as streamed blobs in every round."""
    rounds = run.spec.job.rounds
    for site in run.spec.sites:
        peer = re.escape(site.name)
        for word in ("produced blobs for", "consumed blobs from"):
            size = r"(\d{1,9}) tensors, [^(]{1,80}\((\d{1,18}) bytes\)"
            lines = run.find("server", rf"{word} peer '{peer}' with {size}")
            full = [line for line in lines if int(line.match.group(1))]
            if len(full) != rounds:
                says = f"The server {word} {site.name} in {len(full)} of {rounds} rounds."
                return run.evidence(claim, False, says, lines[-1] if lines else None)
    count, size = full[-1].match.groups()
    says = f"{count} tensors ({int(size) / 1e6:.2f} MB) streamed each way, a site and round."
    return run.evidence(claim, True, says, full[-1])


@validator
def messages_quantised(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """The logs of server and sites show every message quantised, to ``at_most_share`` of its size."""
    rounds, bar = run.spec.job.rounds, float(options["at_most_share"])
    figure = r"(\d{1,12}(?:\.\d{1,12})?)"
    size = f"Before quantization: {figure} MB\\. After quantization: {figure} MB with meta: {figure} MB"
    for name in ("server", *(site.name for site in run.spec.sites)):
        lines = run.find(name, rf"Quantized (\d{{1,18}})/\1 params\. {size}")
        if len(lines) != rounds:
            says = f"{name} quantised whole messages in {len(lines)} of {rounds} rounds."
            return run.evidence(claim, False, says, lines[-1] if lines else None)
        before, after, meta = (float(value) for value in lines[-1].match.groups()[1:])
        if after + meta > bar * before:
            says = f"{name} quantised {before} MB to {after + meta} MB only."
            return run.evidence(claim, False, says, lines[-1])
    says = f"Every message was quantised, from {before} MB to {after + meta:.2f} MB."
    return run.evidence(claim, True, says, lines[-1])


@validator
def memory_told(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """The driver sampled the host memory of the server and of every site's client."""
    peaks = run.host_memory_mib
    missing = [name for name in ("server", *(site.name for site in run.spec.sites)) if not peaks.get(name)]
    if missing:
        return run.evidence(claim, None, f"No sample has the memory of {missing[0]}.")
    told = ", ".join(f"{name} {mib} MiB" for name, mib in sorted(peaks.items()))
    return run.evidence(claim, True, f"Peak host memory: {told}.", run.samples[-1])
