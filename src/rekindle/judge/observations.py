# SPDX-License-Identifier: Apache-2.0
"""What the driver sampled of a run's GPUs and processes."""

from functools import cached_property

from rekindle.host import folders
from rekindle.records import RunSpec
from rekindle.records.events import SampleEvent
from rekindle.records.evidence import EvidenceLine


class Samples:
    """The samples of a run, of all its nodes."""

    def __init__(self, lines: list[EvidenceLine[SampleEvent]], spec: RunSpec) -> None:
        """Take the samples, and the spec that has the GPUs of each node."""
        self._spec = spec
        self.lines = sorted(lines, key=lambda line: line.event.time)
        """In the order of their times."""

    def of_node(self, node: str | None) -> list[EvidenceLine[SampleEvent]]:
        """Return the samples of one node, in the order of their times."""
        return [line for line in self.lines if line.file == folders.name_samples(node)]

    def of_gpu(self, uuid: str) -> list[EvidenceLine[SampleEvent]]:
        """Return the samples of the node that has this GPU, in the order of their times."""
        return self.of_node(self._node_with(uuid))

    def owners_on(self, uuid: str) -> dict[str, str]:
        """Return the server or site of each process on the node of a GPU, by PID as samples list it."""
        return self.owners_of(self._node_with(uuid))

    def owners_of(self, node: str | None) -> dict[str, str]:
        """Return the same of a node."""
        return self._owners.get(folders.name_samples(node), {})

    @cached_property
    def _owners(self) -> dict[str, dict[str, str]]:
        """The server or site of each process of the run, by the file of its node's samples and its PID."""
        owners: dict[str, dict[str, str]] = {}
        for line in self.lines:
            for name, worked in line.event.worked.items():
                owners.setdefault(line.file, {}).update(dict.fromkeys(map(str, worked.pids), name))
        return owners

    def _node_with(self, uuid: str) -> str | None:
        nodes = self._spec.nodes or (None,)
        return next((node for node in nodes if uuid in self._spec.gpus_on(node)), None)
