# SPDX-License-Identifier: Apache-2.0
"""The tasks that NVFlare's server logged, and the results of each, for any workflow."""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property

from . import configuration
from .configuration import Workflow
from .log import LogRecord, read_records
from .workspace import SERVER, LogLine, Workspace

OK = "OK"
_NAMED = re.compile(r"(\w{1,40})=([^,\]]{0,300})")
GIVEN = re.compile(r"assigned task to client (\S{1,200}): name=(\S{1,200}), id=(\S{1,200})$")
CAME = re.compile(r"got result from client (\S{1,200}) for task: name=(\S{1,200}), id=(\S{1,200})$")
"""The server's messages when it assigns a task and gets its result: site, task and the task's id."""
_EMPTY = re.compile(r"Empty result from client (\S{1,200}), skipping\.")
_LATE = re.compile(r"^task (\S{1,200}) is not found$")
"""Its message to a site that has a result, of a task that is over: the site drops it."""
_ENDED = re.compile(r"Server runner finished")


@dataclass(slots=True)
class Task:
    """A task of one site."""

    id: str
    site: str
    name: str
    workflow: str
    """Id of its workflow in the configuration; empty if the log lacks it."""
    last: LogRecord
    """The server's last message about it: that it was assigned, or that its result came."""
    came: bool = False
    late: bool = False
    """Whether the site had its result when the task was over."""
    code: str | None = None
    """Return code of its result, `OK` if it is good; None if the log lacks it."""
    empty: LogRecord | None = None
    """The server's message that the result had no parameters."""

    @property
    def good(self) -> bool:
        """Whether the site returned a result with something in it."""
        return self.came and self.code == OK and self.empty is None


class Account:
    """What a job announced, and what its server logged."""

    def __init__(self, workspace: Workspace, lost: Container[str] = ()) -> None:
        """Take the run's files; ``lost`` are sites that it goes on without, of which nothing counts."""
        self._workspace = workspace
        self._lost = lost
        self.sites = [site for site in configuration.read_sites(workspace) if site not in lost]
        self.flows = configuration.read_workflows(workspace)

    @cached_property
    def records(self) -> list[LogRecord]:
        """The server's log."""
        return read_records(self._workspace, SERVER)

    @property
    def aggregators(self) -> list[str]:
        """Sites that may aggregate, and save the global model: those of swarm learning."""
        swarm = any(flow.flow and flow.flow.between_sites for flow in self.flows)
        return self.sites if swarm else []

    @cached_property
    def ended(self) -> bool:
        """Whether the server's log goes on to the end of the run, well or not."""
        return any(_ENDED.search(record.message) for record in self.records)

    @cached_property
    def tasks(self) -> list[Task]:
        """Every task of these sites in the server's log, in the order of assignment."""
        found: dict[str, Task] = {}
        for record in self.records:
            context = dict(_NAMED.findall(record.context))
            for pattern in (GIVEN, CAME) if record.logger == "ServerRunner" else ():
                match = pattern.search(record.message)
                if match and match[1] not in self._lost:
                    site, name, key = match.groups()
                    task = found.setdefault(key, Task(key, site, name, context.get("wf", ""), record))
                    task.last, task.came = record, pattern is CAME
            if (late := _LATE.match(record.message)) and late[1] in found:
                found[late[1]].late = True
            known = found.get(context.get("task_id", ""))
            if known is None:
                continue
            known.code = known.code or context.get("peer_rc")
            empty = _EMPTY.search(record.message)
            if empty and empty[1] == known.site:
                known.empty = record
        return list(found.values())

    @cached_property
    def missable(self) -> set[str]:
        """The ids of tasks that a good run may leave without a result.

        A round that needs fewer sites goes on without those that answer late, and the last one cuts them off.
        A user's own workflow may end before a site's last answer, as an asynchronous one does.
        """
        found: set[str] = set()
        for flow in self.flows:
            own, tasks = flow.flow is None and self.ended, self.list_tasks(flow)
            tasks = tasks if own or flow.leaves_late(len(self.sites)) else []
            answered = {task.site for task in tasks if task.good or task.late}
            last = {task.site: task.id for task in tasks}
            owed = (task for task in tasks if task.site in answered and not task.came)
            found |= {task.id for task in owed if not own or last[task.site] == task.id}
        return found

    def list_tasks(self, flow: Workflow) -> list[Task]:
        """Return the tasks of one workflow."""
        return [task for task in self.tasks if task.workflow == flow.id or len(self.flows) == 1]

    def count_rounds(self, flow: Workflow, pattern: str) -> list[LogLine]:
        """Return the message at the end of each round: it has the results of all, or of all who stayed."""
        if pattern == configuration.AGGREGATED:
            pattern = rf"Aggregated {flow.count_sampled(len(self.sites))}/\d{{1,9}} results"
        return list(self.find_logged(flow, pattern))

    def find_logged(self, flow: Workflow, pattern: str) -> Iterator[LogLine]:
        """Yield each message of this workflow that ``pattern`` matches."""
        search = re.compile(pattern).search
        for record in self.records:
            mine = len(self.flows) == 1 or dict(_NAMED.findall(record.context)).get("wf") == flow.id
            if mine and any(search(line) for line in (record.message, *record.more)):
                yield record.at
