# SPDX-License-Identifier: Apache-2.0
"""``spec.json``, ``progress.json`` and ``ended.json``: one run of one job, for and by the driver."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from .acceptance import Norms
from .allocation import Allocation
from .base import (
    Few,
    FileName,
    Integer,
    Offset,
    Record,
    Room,
    Seconds,
    Table,
    Text,
    Time,
    Timestamp,
    WholeSeconds,
)
from .host import Engine, GpuProcess
from .job import Job, Ranks


class Site(Record, kw_only=True, frozen=True):
    """A site, and what its trainers run on."""

    name: Text
    ranks: Ranks
    """On all nodes together."""
    gpus: Few[Text]
    """UUIDs, one per rank, in rank order; empty on CPU."""
    node: FileName | None = None
    """The host that is this site of a federation over hosts; None: all sites are where the run is."""


class GivenGpu(Record, kw_only=True, frozen=True):
    """A GPU that the run was given, as preflight saw it."""

    uuid: Text
    index: Integer
    name: Text | None
    memory_mib: Integer | None
    processes: Few[GpuProcess] = ()
    """What held memory on it before the run."""


class Clock(Record, kw_only=True, frozen=True):
    """A host's clock beside the controller's; ``clock.json`` is of the collection of the run."""

    schema: Literal["rekindle/clock/1"] = "rekindle/clock/1"
    offset_s: Offset
    """The host's less the controller's."""
    error_s: Seconds
    """Half of the round trip: the largest error of the offset."""
    asked: Timestamp
    """When, by the controller's clock."""


class RunMember(Record, kw_only=True, frozen=True):
    """What a host is in a run of several hosts, each with a driver, a clock and logs of its own."""

    room: Room
    """The room of this package that joins them."""
    name: Text
    """The server's or a site's, as NVFlare knows it."""
    min_sites: Integer
    """As many have to take part in every round."""
    given: Table[Any] = {}
    """What else the room knows of it; an input of the run."""
    measured: Table[Any] = {}
    """What the room measured, which is none."""


class RunSpec(Record, kw_only=True, frozen=True):
    """Everything that the driver needs to start a job."""

    schema: Literal["rekindle/spec/3"] = "rekindle/spec/3"
    nonce: Text = ""
    """Made by the controller for this run; every line of its evidence repeats it."""
    clock: Clock | None = None
    """The host's clock when the nonce was made; None until the host is asked."""
    files: Table[Text] = {}
    """SHA-256 of each file of the job's code as sent, by its name in the job's folder; empty for one that is
    too large to be collected."""
    host: Text
    job: Job
    sites: Few[Site]
    gpus: Few[GivenGpu] = ()
    python: Text
    """Interpreter of the environment that the job runs in."""
    engine: Engine | None = None
    """What runs it in the image that its job names; None: it runs in its environment."""
    lock_sha256: Text
    versions: Table[Text]
    nodes: Few[FileName] = ()
    """Of the allocation over which each site's ranks are spread, as many on each and in this order; the
    driver, server and clients run on the first. None: all is on one machine."""
    allocation: Allocation | None = None
    """What it asks a batch system for; None: it runs where it is started."""
    tmpdir: Text
    cache: Text | None = None
    """Folder for the caches of frameworks; None leaves them where they are."""
    silence_s: WholeSeconds = 60
    """Without any progress for so long, the run is dead."""
    cross_device_ops: Text | None = None
    """TensorFlow's, as the environment's probe chose them."""
    norms: Norms | None = None
    """The inventory's, of a run that measures its host; None: ours alone."""
    member: RunMember | None = None
    """What the host is in a run of several hosts, of all of them the server; None in a run on one host."""

    @property
    def here(self) -> str | None:
        """The node on which the driver runs; None on one machine."""
        return self.host if self.member else next(iter(self.nodes), None)

    @property
    def own_sites(self) -> tuple[Site, ...]:
        """The sites that are on this host: in a federation the one that it is, if any."""
        return tuple(site for site in self.sites if site.node in {None, self.host})

    @property
    def over_hosts(self) -> bool:
        """Whether its sites are hosts of a federation."""
        return any(site.node for site in self.sites)

    def member_host(self, name: str) -> str | None:
        """Return the host of a federation's server or site; None on one host, and of others."""
        hosts = {site.name: site.node for site in self.sites}
        return hosts.get(name) or next(iter(self.nodes), None)

    def host_of(self, file: str) -> str | None:
        """Return the host of a federation that writes a file of evidence."""
        folder, _, name = file.rpartition("/")
        if not folder:
            return next((node for node in self.nodes if name == f"samples-{node}.jsonl"), None)
        sites = (
            site for site in self.sites if name.startswith((f"{site.name}.rank-", f"{site.name}.server."))
        )
        return self.member_host(max((site.name for site in sites), key=len, default=""))

    def node_of(self, site: Site, rank: int) -> str | None:
        """Return the node of a rank of ``site``; None on one machine."""
        if site.node:
            return site.node
        number = min(rank, site.ranks - 1) * len(self.nodes) // site.ranks
        return self.nodes[number] if self.nodes else None

    def gpus_on(self, node: str | None) -> set[str]:
        """Return the UUIDs of the GPUs that the run was given on ``node``, or on the one machine."""
        ranks = ((site, rank) for site in self.sites for rank in range(len(site.gpus)))
        return {site.gpus[rank] for site, rank in ranks if self.node_of(site, rank) == node}


class Progress(Record, kw_only=True, frozen=True):
    """The progress of detached work on a host; written again every second."""

    schema: Literal["rekindle/progress/1"] = "rekindle/progress/1"
    state: Literal["waiting", "running", "ended", "failed"]
    """``waiting``: in a queue."""
    message: Text
    """``round 2/3, loss 0.0585``; a sentence with its fix where it failed."""
    elapsed_s: Seconds
    changed: bool = False
    result: Table[Any] = {}


class LeftBehind(Record, kw_only=True, frozen=True):
    """``left.json`` of a collected run: what stayed on the host, written there as it was packed."""

    schema: Literal["rekindle/left/1"] = "rekindle/left/1"
    files: Table[Text]
    """Why, by the file's name in the run's folder; names of folders end with ``/``."""
    more: Integer = 0


class Suspension(Record, kw_only=True, frozen=True):
    """A time in which a batch system had a run suspended, seconds since the epoch."""

    MOST: ClassVar = 100
    """The first of a run, that are kept; a cluster that runs jobs in turn has any number."""

    since: Time
    until: Time
    host: Text | None = None
    """Of a federation, which alone was suspended; None for the whole run."""

    def has_stopped(self, host: str | None) -> bool:
        """Return whether what runs on ``host`` was suspended."""
        return self.host in {None, host}


class RunEnd(Record, kw_only=True, frozen=True):
    """How a run ended."""

    schema: Literal["rekindle/ended/1"] = "rekindle/ended/1"
    nonce: Text | None = None
    started: Timestamp
    duration_s: Seconds
    reason: Literal["finished", "limit", "hung", "interrupted"]
    message: Text | None = None
    """One sentence: what the watchdog saw of a run that hung, or what stopped the driver."""
    exit_status: Integer | None
    """Of job.py; None if it was killed by the driver."""
    waited_s: Seconds | None = None
    """In the queue of a batch system, until it was started; None if it was in none, or unknown."""
    suspensions: Annotated[tuple[Suspension, ...], Meta(max_length=Suspension.MOST)] = ()
    """Within ``duration_s``; the limit and the watchdog count none of them."""
