# SPDX-License-Identifier: Apache-2.0
"""The records that one stage writes and the next one reads.

Each record is one JSON file with a versioned schema. Reading one that does not fit raises
`RecordError`, which names the file, the place in it and the fix.
"""

# ruff: noqa: F401

from .acceptance import AcceptanceRecord, AcceptedGpu, Kind, Measurement, Norm, Norms
from .allocation import Allocation, Cluster, NodeGroup
from .base import (
    Record,
    Timestamp,
    allow_decoding,
    check_bounds,
    convert_builtins,
    convert_epoch,
    decode_json,
    dump_builtins,
    format_time,
    parse_time,
    read_record,
    write_record,
)
from .complaint import BundleError, Complaint, RecordError, VersionError, explain_unwritten
from .fabric import Bandwidth, FabricLook, FabricRecord
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
    Clock,
    GivenGpu,
    LeftBehind,
    Progress,
    RunEnd,
    RunMember,
    RunSpec,
    Site,
    Suspension,
)
from .stages import (
    Command,
    Environment,
    EnvRecord,
    Image,
    ImagesRecord,
    LastProgress,
    LeaseRecord,
    Outcome,
    PayloadRecord,
    PlacedRecord,
    PlaybookRecord,
    RetiredRecord,
    StandingRecord,
)
from .verdict import ClaimResult, Device, JobRound, VerdictKind, VerdictRecord, make_bare_verdict

for _kind in Record.__subclasses__():
    allow_decoding(_kind)
