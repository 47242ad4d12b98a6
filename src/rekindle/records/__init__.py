"""The records that one stage writes and the next one reads.

Each record is one JSON file with a versioned schema. Reading one that does not fit raises
`RecordError`, which says the file, the place in it and the fix.
"""

from .acceptance import AcceptanceRecord, AcceptedGpu, Kind, Measurement
from .base import (
    Record,
    Timestamp,
    checked,
    convert,
    decodable,
    decode,
    moment,
    read,
    timestamp,
    to_builtins,
    write,
)
from .complaint import Complaint, RecordError, VersionError
from .env import Environment, EnvRecord
from .finding import Confidence, Finding, Ladder, Layer, Rung
from .host import (
    Cpu,
    Disk,
    Docker,
    Driver,
    FailedProbe,
    Gpu,
    GpuProcess,
    HostRecord,
    Memory,
    Os,
    PciGpu,
    Python,
)
from .images import Image, ImagesRecord
from .job import Claim, Container, Example, Job
from .lease import LeaseRecord
from .outcome import Outcome, PlaybookRecord, Seen
from .placed import PayloadRecord, PlacedRecord
from .plan import Build, PlannedEnvironment, PlanRecord, Reason
from .retired import RetiredRecord
from .run import Clock, Ended, GivenGpu, LeftBehind, Progress, RunSpec, Site, Suspension
from .slurm import Cluster, NodeGroup, Slurm
from .standing import StandingRecord
from .verdict import ClaimResult, Device, JobRound, VerdictKind, VerdictRecord

__all__ = [
    "AcceptanceRecord",
    "AcceptedGpu",
    "Build",
    "Claim",
    "ClaimResult",
    "Clock",
    "Cluster",
    "Complaint",
    "Confidence",
    "Container",
    "Cpu",
    "Device",
    "Disk",
    "Docker",
    "Driver",
    "Ended",
    "EnvRecord",
    "Environment",
    "Example",
    "FailedProbe",
    "Finding",
    "GivenGpu",
    "Gpu",
    "GpuProcess",
    "HostRecord",
    "Image",
    "ImagesRecord",
    "Job",
    "JobRound",
    "Kind",
    "Ladder",
    "Layer",
    "LeaseRecord",
    "LeftBehind",
    "Measurement",
    "Memory",
    "NodeGroup",
    "Os",
    "Outcome",
    "PayloadRecord",
    "PciGpu",
    "PlacedRecord",
    "PlanRecord",
    "PlannedEnvironment",
    "PlaybookRecord",
    "Progress",
    "Python",
    "Reason",
    "Record",
    "RecordError",
    "RetiredRecord",
    "RunSpec",
    "Rung",
    "Seen",
    "Site",
    "Slurm",
    "StandingRecord",
    "Suspension",
    "Timestamp",
    "VerdictKind",
    "VerdictRecord",
    "VersionError",
    "checked",
    "convert",
    "decodable",
    "decode",
    "moment",
    "read",
    "timestamp",
    "to_builtins",
    "write",
]

for _kind in Record.__subclasses__():
    decodable(_kind)
