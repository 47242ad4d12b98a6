# SPDX-License-Identifier: Apache-2.0
"""Claims on what goes between sites and server: how large, streamed, quantised."""

import re

from rekindle.judge.check import Options, Result, fails, holds, register_claim, unknown
from rekindle.judge.run import Run
from rekindle.judge.summary import find_peaks
from rekindle.records.events import FinalEvent, RoundEvent, SampleEvent

_MB = r"(\d{1,12}(?:\.\d{1,12})?) MB"
_QUANTISED = (
    rf"Quantized (\d{{1,18}})/\1 params\. "
    rf"Before quantization: {_MB}\. After quantization: {_MB} with meta: {_MB}"
)
_TENSORS = r"(\d{1,9}) tensors, [^(]{1,80}\((\d{1,18}) bytes\)"


@register_claim(
    holds="Every site reported the size of its weights both ways in every round.",
    needs=(FinalEvent, RoundEvent),
    may_take={"at_most_share": float},
)
def bytes_exchanged(run: Run, options: Options) -> Result:
    """Option ``at_most_share``: of the complete model's bytes; adapters alone stay below it."""
    model_bytes = run.final.event.model_bytes if run.final else None
    if not model_bytes:
        return unknown("job.py did not report the model's size.", run.final)
    bar = float(options.get("at_most_share", 1.0))
    lines = [line for site in run.spec.sites for line in run.ranks.rounds(site.name, 0)]
    for line in lines:
        event, where = line.event, f"in round {line.event.round}"
        if not (event.bytes_in and event.bytes_out):
            return unknown(f"{event.site} reported no size {where}.", line)
        size = max(event.bytes_in, event.bytes_out)
        if size > bar * model_bytes:
            return fails(f"{event.site} exchanged {size} bytes {where} of a model of {model_bytes}.", line)
    message = f"{size / 1e6:.2f} MB each way, per site and round, of a model of {model_bytes / 1e6:.2f} MB."
    return holds(message, lines[-1])


@register_claim(
    holds="The server's log shows each site's tensors produced and consumed as streamed blobs in every round."
)
def tensors_streamed(run: Run, options: Options) -> Result:
    rounds, sites = run.spec.job.rounds, [site.name for site in run.spec.sites]
    for site in sites:
        for done in ("produced blobs for", "consumed blobs from"):
            lines = run.logs.find("server", rf"{done} peer '{re.escape(site)}' with {_TENSORS}")
            streamed = [line for line in lines if int(line.match[1]) > 0]
            if len(streamed) != rounds:
                message = f"The server {done} {site} in {len(streamed)} of {rounds} rounds."
                return fails(message, lines[-1] if lines else None)
    for line in run.logs.find("server", r"\bpeer '([^']{0,200})'"):
        if line.match[1] not in sites:
            return fails(f"The server streamed tensors with {line.match[1]!r}.", line)
    tensors, size = streamed[-1].match.groups()
    message = f"{tensors} tensors ({int(size) / 1e6:.2f} MB) streamed each way, per site and round."
    return holds(message, streamed[-1])


@register_claim(
    holds="The logs of server and sites show every message quantised, to the share that the job asks for.",
    takes={"at_most_share": float},
)
def messages_quantised(run: Run, options: Options) -> Result:
    """Option: ``at_most_share`` of its size."""
    rounds, bar = run.spec.job.rounds, float(options["at_most_share"])
    for name in run.members:
        lines = run.logs.find(name, _QUANTISED)
        if len(lines) != rounds:
            message = f"{name} quantised complete messages in {len(lines)} of {rounds} rounds."
            return fails(message, lines[-1] if lines else None)
        for line in lines:
            before, values, meta = (float(line.match[group]) for group in (2, 3, 4))
            after = values + meta
            if after > bar * before:
                return fails(f"{name} quantised {before} MB to {after} MB only.", line)
    return holds(f"Every message was quantised, from {before} MB to {after:.2f} MB.", lines[-1])


@register_claim(
    holds="The driver sampled the host memory of the server and of every site's client.", needs=(SampleEvent,)
)
def memory_recorded(run: Run, options: Options) -> Result:
    peaks = find_peaks(run)
    missing = [name for name in run.members if not peaks.get(name)]
    if missing:
        return unknown(f"No sample has the memory of {missing[0]}.")
    by_member = ", ".join(f"{name} {mib} MiB" for name, mib in sorted(peaks.items()))
    return holds(f"Peak host memory: {by_member}.", run.samples.lines[-1])
