"""What a rank writes down while it trains, for the judge to read.

One JSON object per line, one file per rank: ``evidence/site-1.rank-0.jsonl``.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

from rekindle.host.slurm import node

from .arrays import Fingerprint
from .ranks import GLOBAL_RANK, LOCAL_RANK
from .sites import SITE

SERVER = os.environ.get("REKINDLE_SERVER", "server")
"""Name of the server's evidence: in a later simulation of one run, another (`hook`)."""
_LONGEST = 2_000
"""Characters of an exception's text; its reader takes no line with twice as many."""


class Evidence:
    """The evidence file of a rank (a process, or a replica in one), or of job.py or the server with ``name``.

    Every line repeats the nonce of the run that the driver named in REKINDLE_NONCE.
    """

    def __init__(self, name: str = "", *, rank: int = GLOBAL_RANK) -> None:
        """Open the file in the folder that the driver named in REKINDLE_EVIDENCE."""
        self._rank = rank
        stem = name or f"{SITE}.rank-{rank}"
        self._path = Path(os.environ["REKINDLE_EVIDENCE"]) / f"{stem}.jsonl"

    def _write(self, event: str, **fields: Any) -> None:
        nonce = os.environ.get("REKINDLE_NONCE") or None
        line = json.dumps(_finite({"event": event, "time": time.time(), "nonce": nonce, **fields}))
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    def device(self, device: str, *, uuid: str | None, name: str | None, backend: str) -> None:
        """Say what this rank runs on: its device (``cuda:0``, ``cpu``), and the collective backend."""
        self._write(
            "device",
            site=SITE,
            rank=self._rank,
            local_rank=LOCAL_RANK,
            pid=os.getpid(),
            device=device,
            uuid=uuid,
            name=name,
            backend=backend,
            node=node(os.environ),
        )

    def round(  # noqa: PLR0913 - these are the fields of one event
        self,
        number: int,
        *,
        samples: int,
        seconds: float,
        losses: list[float],
        metrics: dict[str, float],
        model_in: Fingerprint,
        model_out: Fingerprint,
        bytes_in: int | None = None,
        bytes_out: int | None = None,
        forward_s: float | None = None,
    ) -> None:
        """Say what this rank did in a round.

        Args:
            number: the round, from 0.
            samples: training samples that this rank went through.
            seconds: wall time of the training loop alone.
            losses: mean training loss of each local epoch.
            metrics: of the model as received, on held-out data.
            model_in: of the weights as received.
            model_out: of the weights as sent.
            bytes_in: size of the weights that rank 0 received from NVFlare.
            bytes_out: size of those that it sent.
            forward_s: seconds of its forward passes in training, where ranks are on several nodes.
        """
        self._write(
            "round",
            site=SITE,
            rank=self._rank,
            round=number,
            samples=samples,
            seconds=seconds,
            losses=losses,
            metrics=metrics,
            model_in=model_in.digest,
            sketch_in=model_in.sketch,
            model_out=model_out.digest,
            sketch_out=model_out.sketch,
            bytes_in=bytes_in,
            bytes_out=bytes_out,
            forward_s=forward_s,
        )

    def exception(self, kind: str, message: str, place: str, *, site: str = SITE) -> None:
        """Say what ended this rank: the exception's class and text, and the ``file:line`` that raised it."""
        said = message[:_LONGEST]
        self._write("exception", site=site, rank=self._rank, kind=kind, message=said, place=place)

    def global_model(self, number: int, model: Fingerprint) -> None:
        """Say what the server's model is as round ``number`` begins, or after the last one."""
        self._write("global", round=number, digest=model.digest, sketch=model.sketch)

    def contribution(self, *, model: Fingerprint, **fields: Any) -> None:
        """Say what the server got from a site in a round; the event's fields say what each is.

        ``model`` is of the weights as they are aggregated.
        """
        finite = bool(model.sketch)
        self._write("contribution", **fields, digest=model.digest, sketch=model.sketch, finite=finite)

    def task(self, **fields: Any) -> None:
        """Say what the server got from a site for a task; the event's fields say what each is."""
        self._write("task", **fields)

    def model(self, name: str, *, error: str = "", **figures: Any) -> None:
        """Say what a model is that the server saved or began with; the event's fields say what each is."""
        self._write("model", model=name, error=error[:_LONGEST] or None, **figures)

    def tracking(self, tracker: str, scalars: list[tuple[str, str, int, float]]) -> None:
        """Say what was read back from a tracker: site, tag, step and value of every scalar."""
        self._write("tracking", tracker=tracker, scalars=scalars)

    def final(
        self,
        *,
        initial: str,
        final: str,
        distance: float,
        metrics: dict[str, float],
        model_bytes: int | None = None,
    ) -> None:
        """Say what came of the run: digests of the first and last global model, their distance, its size."""
        self._write(
            "final",
            initial=initial,
            final=final,
            distance=distance,
            metrics=metrics,
            model_bytes=model_bytes,
        )


def _finite(value: Any) -> Any:
    """Replace each float that JSON cannot hold (NaN, infinity) by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return value
