# SPDX-License-Identifier: Apache-2.0
"""The lines of ``evidence/*.jsonl`` and ``samples.jsonl``: what trainers, job.py and the driver saw."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from .acceptance import AcceptanceRecord
from .base import Few, Integer, Many, Number, Seconds, Table, Text, Time, allow_decoding, decode_json


class Event(msgspec.Struct, kw_only=True, frozen=True, tag_field="event"):
    """One line; ``time`` is seconds since the epoch."""

    time: Time
    nonce: Text | None = None
    """The spec's, which ties the line to its run."""


Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z", max_length=64)]
"""SHA-256, in hexadecimal."""
Sketch = Few[Number]
"""The sums of every eighth weight of a model, from the first, the second … on: linear in the weights."""


class RankEvent(Event, kw_only=True, frozen=True):
    """What a rank of a site reports."""

    site: Text
    rank: Integer

    @property
    def who(self) -> str:
        """``site-1 rank 0``."""
        return f"{self.site} rank {self.rank}"


class DeviceEvent(RankEvent, kw_only=True, frozen=True, tag="device"):
    """What a rank runs on."""

    pid: Integer
    device: Text
    uuid: Text | None
    name: Text | None
    backend: Text
    node: Text
    """Its batch system's name, or else the machine's."""


class RoundEvent(RankEvent, kw_only=True, frozen=True, tag="round"):
    """What a rank did in a round."""

    round: Integer
    samples: Integer
    seconds: Seconds
    losses: Many[Number | None]
    """Mean training loss of each local epoch; None for one that is not finite."""
    metrics: Table[Number | None]
    """Of the model as received, on held-out data."""
    model_in: Digest
    model_out: Digest
    sketch_in: Sketch | None = None
    sketch_out: Sketch | None = None
    """Of the weights whose digests ``model_in`` and ``model_out`` are."""
    bytes_in: Integer | None = None
    bytes_out: Integer | None = None
    """Size of the weights that rank 0 received from NVFlare, and of those that it sent."""
    forward_s: Seconds | None = None
    """Of ``seconds``, those of forward passes, in which no rank waits for another; None on one machine."""


class ExceptionEvent(RankEvent, kw_only=True, frozen=True, tag="exception"):
    """What ended a rank."""

    kind: Text
    message: Text
    place: Text


class TrackingEvent(Event, kw_only=True, frozen=True, tag="tracking"):
    """What was read back from a tracker."""

    tracker: Text
    site: Text
    """In whose folder it kept that; empty for the server's, and any other."""
    scalars: Many[tuple[Text, Text, Integer, Number | None]]
    """Name of the tracker's run, tag, step and value; None for one that is not finite."""
    error: Text | None = None
    """Why its store was not read."""


class FinalEvent(Event, kw_only=True, frozen=True, tag="final"):
    """What came of the run, as its job.py reports it."""

    digest: Digest | None
    """Of the final global model, as in ModelEvent."""
    metrics: Table[Number | None]
    model_bytes: Integer | None = None
    """Size of the complete model in the precision that is exchanged."""


class GlobalEvent(Event, kw_only=True, frozen=True, tag="global"):
    """The global model at the start of a round, by our component at the server or, in swarm learning, a site.

    The last one, whose ``round`` is the number of rounds, is the result of the last round.
    """

    round: Integer
    workflow: Text = ""
    """NVFlare's id of it, of which a job may have several."""
    sketch: Sketch
    names: Digest | None = None
    """Digest of the names that the sketch covers, by a site; the server's are those of the results."""


class TaskEvent(Event, kw_only=True, frozen=True, tag="task"):
    """What NVFlare's server got from a site for a task of any workflow, by our component there."""

    site: Text
    task: Text
    workflow: Text = ""
    """NVFlare's id of it."""
    round: Integer | None
    return_code: Text
    kind: Text
    """NVFlare's data kind: ``WEIGHTS``, ``WEIGHT_DIFF``, ``METRICS`` …; empty if it is no DXO."""
    values: Integer
    """Numbers in it."""
    bytes: Integer
    """Size of its arrays and of its raw bytes, such as ciphertexts."""
    finite: bool | None
    """Of all numbers but infinite ones that the site was sent, as of a mask; None where there are none."""
    norm: Number | None
    """L2 of the numbers; None if it is not finite, or there are none."""
    moved: Number | None
    """L2 to what the site was sent; None if it is not finite, or nothing comparable was sent."""
    trained: Number | None = None
    """The same for trainable parameters alone, where they moved by more than rounding; 0 if all were merely
    scaled."""
    kept: Number | None = None
    """Correlation with what the site was sent; None of fewer than 150 parameters."""
    alike: Number | None = None
    """Correlation with the first result of the same round; None of that one."""
    follows: Number | None = None
    """Correlation of what the site was sent with the first result of the round before; None of all others."""
    controls: Number | None = None
    """L2 of the change of the site's SCAFFOLD controls; None where it sent none."""
    relative: Number | None = None
    """L2 of its trainable parameters by that of those that the site was sent; None where they were all 0."""
    blank: Integer = 0
    """Number of values in arrays that are all 0 where those that the site was sent were not."""
    still: Integer = 0
    """Number of values in arrays of trainable parameters that came back as the site was sent them."""
    weight: Number | None = None
    """Its weight in the aggregation: the site's training steps; None if not reported."""
    names: Digest | None = None
    """Digest of the names of its floating-point leaves, which the sketches cover; None where it has none."""
    sketch: Sketch = ()
    sent: Sketch = ()
    """Sketch of what the site was sent under the same names; empty where it lacks one."""
    metrics: Table[Number | None]
    """Of the model that the site received, by its own evaluation."""


class ConfigurationEvent(Event, kw_only=True, frozen=True, tag="configuration"):
    """A job's configuration as NVFlare read it, from JSON, HOCON or YAML, with its variables in place."""

    member: Text
    """``server``, or a site."""
    content: Table[Any]
    """Workflows and components have the ``path`` of the class that was built; long lists are None."""


class ModelEvent(Event, kw_only=True, frozen=True, tag="model"):
    """A model that NVFlare's server saved or began with, as it loads in the run's own environment."""

    model: Text
    """Its file in the run's folder; empty for the initial model."""
    sha256: Digest | None = None
    error: Text | None = None
    values: Integer = 0
    """Floating-point numbers in it, or integers where it has no others; the fields below cover them."""
    infinite: Integer = 0
    """How many of them are infinite or NaN, as in a mask of attention."""
    norm: Number | None = None
    digest: Digest | None = None
    """Depends on the arrays alone, not on their order and names; None where there are none."""


class UseEvent(Event, kw_only=True, frozen=True, tag="use"):
    """A trainer misused a model that it got or sent, or was right with a later one."""

    site: Text
    place: Text
    """The file and line of the job's own code."""
    right: bool
    by: Literal["reads", "steps", "turns", "changes", "idles", "vain", "rates"] = "reads"
    """Whether it read a parameter that has a name of its torch model; began its steps from one; sent a result
    before it got the same model for ever; sent a whole model where it said so, and not what it changed; had
    an optimizer step, where it computed gradients; had gradients for every optimizer that it had step."""


class MadeEvent(Event, kw_only=True, frozen=True, tag="made"):
    """A site's result before the site's own filters; the server's TaskEvent has what these left of it."""

    site: Text
    round: Integer
    sketch: Sketch
    names: Digest
    """As a TaskEvent's."""


class GpuSample(msgspec.Struct, kw_only=True, frozen=True):
    """One GPU at one moment."""

    utilisation: Integer | None
    """Percent; None of a MIG instance, as NVML does not report it."""
    memory_utilisation: Integer | None = None
    """Percent of the time in which its memory was read or written; None where NVML does not report it."""
    used_mib: Integer
    processes: Table[Integer]
    """MiB by PID."""
    process_utilisation: Table[Integer] | None = None
    """Percent by PID, the most since the sample before; None where NVML does not report it."""
    xids: Few[Integer] | None = None
    """Xid errors since the sample before; None where nothing watches for them."""
    xids_by: Few[Text] = ()
    """Their sources: ``NVML``'s events, the ``kernel`` log."""
    ecc_uncorrected: Integer | None = None
    """Uncorrected memory errors since the driver was loaded; None where NVML does not count them."""


class MemberWork(msgspec.Struct, kw_only=True, frozen=True):
    """What the processes of NVFlare's server or of one site used so far, ended ones included."""

    nvflare_s: Seconds
    """CPU seconds of NVFlare's own, in which trainers of some jobs run too."""
    others_s: Seconds | None
    """CPU seconds of its descendants, as launched trainers are; None if there never was one."""
    pids: Few[Integer]


class SampleEvent(Event, kw_only=True, frozen=True, tag="sample"):
    """All assigned GPUs at one moment, by UUID, and the processes of server and sites."""

    gpus: Table[GpuSample]
    unanswered: Table[Few[Integer] | None] = {}
    """Assigned GPUs that did not answer NVML, by UUID, and their Xid errors as in GpuSample."""
    memory_mib: Table[Integer] = {}
    """Most host memory so far, of ``server`` and of each site's client."""
    worked: Table[MemberWork] = {}
    network: tuple[Integer, Integer] | None = None
    """Bytes that the host received and sent since it was switched on, but for loopback; None if older."""


class AcceptanceEvent(Event, kw_only=True, frozen=True, tag="acceptance"):
    """What a job that measures its host found."""

    record: AcceptanceRecord


AnyEvent = (
    DeviceEvent
    | RoundEvent
    | ExceptionEvent
    | FinalEvent
    | TrackingEvent
    | GlobalEvent
    | MadeEvent
    | TaskEvent
    | ConfigurationEvent
    | ModelEvent
    | UseEvent
    | AcceptanceEvent
    | SampleEvent
)
_ANY: Any = allow_decoding(AnyEvent)


def decode_event(line: bytes) -> AnyEvent:
    """Return the event on one line.

    Raises:
        RecordError: there is none.
    """
    event: AnyEvent = decode_json(line, _ANY)
    return event
