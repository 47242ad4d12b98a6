# SPDX-License-Identifier: Apache-2.0
"""What a rank writes down while it trains, for the judge to read.

One JSON object per line, one file per rank: ``evidence/site-1.rank-0.jsonl``.
"""

import json
import math
import os
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rekindle.host.variables import name_machine

from .arrays import Fingerprint, sketch_model
from .ranks import GLOBAL_RANK
from .sites import SITE
from .variables import SERVER

_LONGEST = 2_000
"""Characters of an exception's text; its reader takes no line with twice as many."""


def name_server() -> str:
    """Return the name of the server's evidence: in a later simulation of one run, another (`hook`)."""
    return os.environ.get(SERVER, "server")


class Evidence:
    """The evidence file of a rank (a process, or a replica in one), or of job.py or the server with ``name``.

    Every line repeats the nonce of the run that the driver named in REKINDLE_NONCE.
    """

    def __init__(self, name: str = "", *, rank: int = GLOBAL_RANK) -> None:
        """Open the file in the folder that the driver named in REKINDLE_EVIDENCE."""
        self._rank = rank
        stem = name or f"{SITE}.rank-{rank}"
        self._path = Path(os.environ["REKINDLE_EVIDENCE"]) / f"{stem}.jsonl"

    def write(self, event: str, **fields: Any) -> None:
        """Write one line; the event in ``rekindle.records.events`` describes each field."""
        nonce = os.environ.get("REKINDLE_NONCE") or None
        line = json.dumps(_finite({"event": event, "time": time.time(), "nonce": nonce, **fields}))
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    def device(self, device: str, *, uuid: str | None, name: str | None, backend: str) -> None:
        """Record what this rank runs on: its device (``cuda:0``, ``cpu``), and the collective backend."""
        where = {"site": SITE, "rank": self._rank, "node": name_machine(os.environ)}
        fields = {"device": device, "uuid": uuid, "name": name, "backend": backend}
        self.write("device", **where, pid=os.getpid(), **fields)

    def round(self, number: int, *, model_in: Fingerprint, model_out: Fingerprint, **fields: Any) -> None:
        """Record what this rank did in a round, from 0; the event describes each field.

        ``model_in`` and ``model_out`` are of the weights as received and as sent.
        """
        digests = {"model_in": model_in.digest, "model_out": model_out.digest}
        sketches = {"sketch_in": model_in.sketch, "sketch_out": model_out.sketch}
        self.write("round", site=SITE, rank=self._rank, round=number, **digests, **sketches, **fields)

    def exception(self, kind: str, message: str, place: str, *, site: str = SITE) -> None:
        """Record what ended this rank: the exception's class, text and the ``file:line`` that raised it."""
        text = message[:_LONGEST]
        self.write("exception", site=site, rank=self._rank, kind=kind, message=text, place=place)

    def global_model(
        self, number: int, sketch: tuple[float, ...], names: str | None = None, workflow: str = ""
    ) -> None:
        """Record what the global model is as round ``number`` begins, or after the last one."""
        self.write("global", round=number, workflow=workflow, names=names, sketch=sketch)

    def configuration(self, member: str, content: dict[str, Any]) -> None:
        """Record what NVFlare read the job's configuration of the server or of a site as."""
        self.write("configuration", member=member, content=content)

    def model(self, name: str, *, error: str = "", **figures: Any) -> None:
        """Record a model that the server saved or began with; the event describes each field."""
        self.write("model", model=name, error=error[:_LONGEST] or None, **figures)

    def tracking(
        self, tracker: str, site: str, scalars: list[tuple[str, str, int, float]], *, error: str = ""
    ) -> None:
        """Record what was read back from a tracker; the event describes each field."""
        self.write("tracking", tracker=tracker, site=site, scalars=scalars, error=error[:_LONGEST] or None)

    def final(self, weights: Mapping[str, Any], metrics: dict[str, float], **fields: Any) -> None:
        """Record what came of the run, and print its metrics; ``weights`` are the final global model's."""
        print(f"Final metrics: {json.dumps(_finite(metrics), sort_keys=True)}", flush=True)
        self.write("final", digest=sketch_model(weights)["digest"], metrics=metrics, **fields)


def record_error(error: Exception, recorder: str = "", site: str = "server") -> None:
    """Record an error of our own component, which must not end the run."""
    with suppress(OSError, KeyError):  # a full disk, or a server that no driver started
        frame = traceback.extract_tb(error.__traceback__)[-1]
        kind, place = type(error).__name__, f"{frame.filename}:{frame.lineno}"
        Evidence(recorder or name_server()).exception(kind, str(error), place, site=site)


def _finite(value: Any) -> Any:
    """Replace each float that JSON cannot hold (NaN, infinity) by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return value
