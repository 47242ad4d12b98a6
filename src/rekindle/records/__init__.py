# SPDX-License-Identifier: Apache-2.0
"""The records that one stage writes and the next one reads.

Each record is one JSON file with a versioned schema. Reading one that does not fit raises
`RecordError`, which names the file, the place in it and the fix.
"""

# ruff: noqa: F401

from .acceptance import AcceptanceRecord, AcceptedGpu, Kind, Measurement
from .base import (
    Record,
    Timestamp,
    checked,
    convert,
    decodable,
    decode,
    moment,
    moment_at,
    read,
    timestamp,
    to_builtins,
    write,
)
from .complaint import BundleError, Complaint, RecordError, VersionError
from .finding import Confidence, Diagnosis, Finding, Ladder, Layer, Moment, Rung
from .host import (
    Cpu,
    Disk,
    Driver,
    Engine,
    FailedProbe,
    Gpu,
    GpuProcess,
    HostRecord,
    Memory,
    Os,
    PciGpu,
    Python,
)
from .job import Claim, Container, Example, Job
from .plan import Build, PlannedEnvironment, PlanRecord, Reason
from .run import (
    Bound,
    Clock,
    Ended,
    GivenGpu,
    LeftBehind,
    Participant,
    Progress,
    RunSpec,
    Site,
    Suspension,
    Way,
)
from .slurm import Cluster, NodeGroup, Slurm
from .stages import (
    Command,
    Environment,
    EnvRecord,
    Image,
    ImagesRecord,
    KitRecord,
    LeaseRecord,
    LinkRecord,
    MemberRecord,
    Outcome,
    PayloadRecord,
    PlacedRecord,
    PlaybookRecord,
    RetiredRecord,
    Seen,
    StandingRecord,
)
from .verdict import ClaimResult, Device, JobRound, VerdictKind, VerdictRecord

for _kind in Record.__subclasses__():
    decodable(_kind)
