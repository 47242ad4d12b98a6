# SPDX-License-Identifier: Apache-2.0
"""A participant of a federation as the place of a run: a host that is NVFlare's server, or a site of it."""

import json
import socket
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import cast

from rekindle.driver.places import Place, PlaceError
from rekindle.driver.progress import Reporter
from rekindle.host import folders
from rekindle.host.variables import NODE
from rekindle.records import RunMember, RunSpec, dump_builtins
from rekindle.trainer.variables import MEMBER

from .assignment import Assignment, find_kit_flaw
from .records import Participant, is_federation, read_participant, read_transfers

_PERIOD_S, _CONNECT_S = 1.0, 5


class FederationPlace(Place):
    """What a host is in a federation."""

    climbs = False

    @classmethod
    def is_for(cls, spec: RunSpec) -> bool:
        """Whether the run is of a federation."""
        return is_federation(spec)

    def __init__(self, run_dir: Path, spec: RunSpec) -> None:
        """Take the folder of a run, and what is to be run."""
        super().__init__(run_dir, spec)
        self._tasks = Assignment(run_dir / folders.JOB_LOG, self.participant.role)

    @property
    def member(self) -> RunMember:
        """What the host is in the federation."""
        return cast("RunMember", self.spec.member)  # else it is none

    @cached_property
    def participant(self) -> Participant:
        """What the federation knows of it."""
        return read_participant(self.member)

    def prepare(self, reporter: Reporter) -> None:
        """Wait until the server listens, where time is limited: other hosts may have no node yet."""
        super().prepare(reporter)
        within_s = self.patience_s
        if within_s is None:
            return
        at, began = (self.participant.address, self.participant.port), time.monotonic()
        while (waited := time.monotonic() - began) < within_s:
            with suppress(OSError):
                socket.create_connection(at, timeout=_CONNECT_S).close()
                return
            reporter.report(waited, f"on its node, before the server at {at[0]}:{at[1]} listens")
            time.sleep(_PERIOD_S)
        server = f"the server at {at[0]}:{at[1]}"
        raise PlaceError(f"This site had its node for {within_s:.0f} s, and {server} did not listen there.")

    def variables(self) -> dict[str, str]:
        """Return what NVFlare's processes are told of the federation."""
        return {
            **super().variables(),
            MEMBER: json.dumps(dump_builtins(self.member)),
            NODE: self.spec.host,
            **read_transfers(self.member).environ,
        }

    def refusal(self) -> str | None:
        """Return why its kit is not valid by this host's clock."""
        return find_kit_flaw(self.member.name, self.participant) or super().refusal()

    def rests(self) -> bool:
        """Whether the server waits for its sites, or a site for its task."""
        return self._tasks.waits()


KIND = FederationPlace
