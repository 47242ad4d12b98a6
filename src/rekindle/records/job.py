# SPDX-License-Identifier: Apache-2.0
"""``job.yml``: what a job needs, and what proves that it ran."""

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from .base import Few, Integer, Number, Record, Table, Text
from .plan import Framework, name_packaged

GpuShortage = Literal["share", "turns", "fewer", "unsupported"]
"""With fewer GPUs than the sites ask for together: sites share them at one time, or take turns on them round
by round, or each gets fewer of its own, or the job is UNSUPPORTED."""

NAME = r"^[a-z][a-z0-9_-]*$"
Positive = Annotated[int, Meta(ge=1, le=100_000_000)]
Rounds = Annotated[int, Meta(ge=1, le=10_000)]
Ranks = Annotated[int, Meta(ge=1, le=1_000)]


class Claim(Record, kw_only=True, frozen=True):
    """One thing that has to be shown, and its limits."""

    claim: Text
    """Name of a check."""
    options: Table[Any] = {}
    """What the check takes: a metric and its bar, for example."""


class Mend(Record, kw_only=True, frozen=True):
    """A change that an example needs to run, made in a copy of it."""

    file: Text
    """Relative to the example's folder."""
    before: Annotated[str, Meta(min_length=1, max_length=4_000)]
    """The text as it is."""
    after: Annotated[str, Meta(max_length=4_000)]
    """The text that replaces it."""
    because: Text
    """Why the example cannot run without."""
    fault: Literal["example", "environment", "upstream"]
    """Whose fault it is."""
    where: Literal["anywhere", "cpu"] = "anywhere"
    """``cpu``: only where a run has no GPU."""


class Removal(Record, kw_only=True, frozen=True):
    """Later checkouts of the same release no longer have an example."""

    commit: Text
    """A commit of NVFlare's that still has it."""
    why: Text
    """One clause: what replaced it."""


StandIn = Literal[
    "adult",
    "cifar10",
    "cifar10_large",
    "dolly",
    "fashion_mnist",
    "gpt2",
    "heart_disease",
    "imdb",
    "mnist",
    "veteran",
]
"""A data set or model, by the name of its stand-in's maker (``rekindle.trainer.data``)."""


class Container(Record, kw_only=True, frozen=True):
    """The container that a job runs in, instead of an environment of ours.

    Its image's ``python3`` is called, and ``environment`` serves the blame ladder alone.
    """

    image: Annotated[str, Meta(pattern=r"^\w[\w./:@-]*\Z", max_length=300)]
    """Its name, as the engine pulls it."""


class Folders(Record, kw_only=True, frozen=True):
    """The data of a job."""

    from_: Text = msgspec.field(name="from")
    """A folder; with ``{n}`` in its path, one for each site by its number from 1 on."""
    where: Literal["host", "controller"] = "host"
    """Where it lies: what the host has is linked, what the controller has is sent with the job."""
    to: Text = "{data}"
    """Where in a run's own folder of data each is, as ``site-1``, or one for all sites by its own name."""

    def locate(self, sites: int) -> dict[str, str]:
        """Return the folders of so many sites, by the names that they have in the run."""
        if "{n}" not in self.from_:
            return {PurePosixPath(self.from_).name: self.from_}
        return {f"site-{n}": self.from_.replace("{n}", str(n)) for n in range(1, sites + 1)}


Command = Annotated[tuple[Text, ...], Meta(min_length=1, max_length=100)]


class Variant(Record, kw_only=True, frozen=True):
    """What an example of one release needs in place of the fields of the same names; None: the same."""

    command: Command | None = None
    before: Few[Few[Text]] | None = None
    data: Few[StandIn] | None = None
    mends: Few[Mend] | None = None


class Example(Record, kw_only=True, frozen=True):
    """A job that others wrote, which runs unchanged, and what running it takes."""

    folder: Text | None = None
    """Below ``examples/`` of a checkout of NVFlare's; None where the code lies beside job.yml."""
    releases: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=100)] = ("2.7",)
    """Releases of NVFlare that have the example."""
    variants: Table[Variant] = {}
    """By release."""
    removed: Removal | None = None
    """Set for an example that later checkouts lack."""
    command: Command
    """Python's arguments in its folder, or a script of a shell's (``run.sh``) and its own, before the options
    of ``arguments``.

    ``{sites}`` and ``{rounds}`` are the job's numbers, ``{data}`` is the folder of its stand-ins and
    ``{workspace}`` the one in which NVFlare's simulator makes its own. ``{gpus}`` are the indexes of each
    site's GPUs, as in ``[0,1],[2,3]``, and as many numbers for ranks on CPU. Each ``{port}`` is a free one.
    For a job.py that gives each rank its GPU (`Job.assigns_gpus`), ``{names}`` are the names of the sites,
    and ``{devices}`` the UUIDs of their GPUs, or ``cpu``: ``[GPU-1f,GPU-2e],[cpu,cpu]``.
    """
    gpus: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """Fewest GPUs that it needs."""
    before: Few[Few[Text]] = ()
    """Earlier calls, in turn."""
    data: Few[StandIn] = ()
    """Stand-ins for data sets or models, by name."""
    environ: Table[Text] = {}
    """Variables of its processes; ``{data}`` as in ``command``."""
    mends: Few[Mend] = ()
    """Changes without which it cannot run."""
    container: Container | None = None
    """The job's own, here or beside ``example``."""

    @property
    def described(self) -> "tuple[Example | Variant, ...]":
        """What it needs, and what else of other releases."""
        return self, *self.variants.values()


class Job(Record, kw_only=True, frozen=True):
    """A federated job."""

    schema: Literal["rekindle/job/1"]
    """The version of this file."""
    name: Annotated[str, Meta(pattern=NAME, max_length=200)]
    """The job in results and settings. None: its folder's name."""
    summary: Text
    """One line on what it does."""
    example: Example | None = None
    """None for a job.py that measures its host, without NVFlare."""
    code: Text | None = None
    """Job whose job.py, client.py and model.py this one runs, with its own arguments and proof."""
    environment: Framework
    """The environment in which it runs, such as ``torch+vision``."""
    requirements: Few[Text] | None = None
    """Packages that it imports and the environment's lock may lack, as pip has them, sorted. job.yml may
    name a file that lists them. None: those of a file beside a user's own job.py."""
    container: Container | None = None
    """The container in which it runs instead."""
    data: Folders | None = None
    """The job's own data."""
    sites: Ranks
    """How many sites take part."""
    ranks_per_site: Ranks
    """Trainer processes a site, one GPU each; on a host without GPUs, processes on CPU.

    In a run over several nodes, on each of them."""
    rounds: Rounds
    """Rounds of the federation."""
    assumed: Few[Text] = ()
    """Which of ``sites`` and ``rounds`` nobody said and no file of the job shows: the run tells."""
    when_short_of_gpus: GpuShortage
    """With fewer GPUs than the sites ask for: they share GPUs, take turns, get fewer each, or the job is
    UNSUPPORTED."""
    limit_s: Positive
    """Limit on the complete run, seconds."""
    expected_s: Positive = 60
    """Seconds that it takes on its usual hosts; with less left of a lease it is SKIPPED."""
    priority: Integer = 0
    """Jobs of a higher one go first, equal ones in the order of rekindle_jobs."""
    silence_s: Positive = 60
    """Seconds without any progress (log, evidence, activity) after which the run is ended as HUNG. Before
    each site's first result they are four times as many, but no more than 240 unless this is."""
    required: bool = True
    """Whether a host counts as proven only if this job is PASS."""
    arguments: Table[Text | Integer | Number | bool | Few[Text]] = {}
    """Options that job.py is called with: ``local_epoch: 2`` becomes ``--local_epoch 2``; true is a flag."""
    proof: Annotated[tuple[Claim, ...], Meta(min_length=1, max_length=1_000)]
    """What the job has to show."""

    @property
    def packaged(self) -> Framework:
        """Its environment with what it requires."""
        return name_packaged(self.environment, self.requirements or ())

    @property
    def image(self) -> str | None:
        """The image that it runs in; None for a job that runs in its environment."""
        container = self.container or (self.example and self.example.container)
        return container.image if container else None

    @property
    def command(self) -> tuple[str, ...]:
        """The script that runs it, with its arguments and placeholders, as in its `Example`."""
        return self.example.command if self.example else ("job.py", "--gpu", "{devices}")

    @property
    def assigns_gpus(self) -> bool:
        """Whether its job.py gives each rank its own GPU, by ``rekindle.trainer``; others see all."""
        return self.example is not None and any("{devices}" in word for word in self.example.command)

    @property
    def federated(self) -> bool:
        """Whether NVFlare runs it; a job with no proof but its host's GPUs only measures them."""
        return any(claim.claim != "gpus_accepted" for claim in self.proof)
