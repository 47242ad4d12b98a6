# SPDX-License-Identifier: Apache-2.0
"""The global models that a run saved, and how they loaded in its environment."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from rekindle.flare.workspace import Workspace
from rekindle.records.events import ModelEvent
from rekindle.records.evidence import EvidenceLine


class SavedModels:
    """The global models of a run, by their names."""

    def __init__(
        self,
        workspace: Workspace,
        aggregators: Sequence[str],
        left: Mapping[str, str],
        loaded: list[EvidenceLine[ModelEvent]],
    ) -> None:
        """Take where models are saved, the files that stayed on the host, and what loaded there."""
        self._workspace, self._aggregators, self._left = workspace, aggregators, left
        self.loaded = {line.event.model: line for line in loaded}
        """How each loaded in the run's environment, by its file; the initial one's name is empty."""

    @cached_property
    def files(self) -> dict[str, str]:
        """The files of those that came home, in the run's folder."""
        found = self._workspace.models(*self._aggregators)
        paths = {name: member.path(file) for name, (member, file) in found.items()}
        return {name: path.relative_to(self._workspace.folder).as_posix() for name, path in paths.items()}

    @cached_property
    def left(self) -> dict[str, str]:
        """The files of those that stayed on the host."""
        return self._workspace.models_among(self._left, *self._aggregators)
