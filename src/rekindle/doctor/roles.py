# SPDX-License-Identifier: Apache-2.0
"""What the processes of a workspace are to each other: who died, who ended early, and what only follows."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from rekindle.flare.log import ABORTS, COMPLETED, ENDED, FINISHED, GIVEN, PREFIX, RETURNED, STOPS
from rekindle.flare.processes import find_client
from rekindle.flare.workspace import LOG, SERVER
from rekindle.host import folders
from rekindle.records.stacks import find_stacks

from .prefixes import TRAINER, find_producer
from .scan import Match, cut_line, make_stated
from .texts import Text, count_seconds

_OF_LAUNCHER = re.compile(r"_\w{1,60}: |start task run\(\)")
"""What NVFlare itself logs under a trainer's logger."""
_WAITS = "InProcessClientAPIExecutor.execute ("
_RUNS = "TaskScriptRunner.run ("
_NAMED, _SAID, _NEVER, _WAITED = 10, 160, "~", 30
_FEDERATED, _FIRST_LINE = "Runner_process started.", 200
"""First word of the log of a job's server in a federation."""
_SIMULATED = " - SimulatorRunner - "
"""In the log of a simulation's server, which is job.py's own process."""
_OVER = re.compile(rf"{ENDED.pattern}|- INFO - shutting down server")
"""What a server logs as it ends: a job's, or that of a federation which an admin shuts down."""
_LOGGED, _NO_MEMBERS = re.compile(f"^{PREFIX}", re.MULTILINE), 2
"""How NVFlare's messages begin, and how near the files are that are no member's."""
_ERRORS = re.compile(" - (?:ERROR|CRITICAL) - ")
_JOINED = re.compile(r"Connection \[[^\]\n]{1,80} => [^\]\n]{1,80}\] is created: PID: (\d{1,10})")
"""What a site's process logs first of itself; its trainers, which log to the same file, join later."""


class MemberLogs(NamedTuple):
    """The logs of the members of a workspace, and when its server was gone."""

    server: Text | None
    sites: Mapping[str, Text]
    over: bool
    """Whether the server came to its end, or to that of a run which the driver ended."""
    gone: str
    """When it did, or when its log stops if a site lost it; ``~`` if it is there to the last, or unknown."""
    lost: str = ""
    """When the first site lost it; nothing if none did, or it came to its end."""
    done: str = ""
    """When its last workflow, or the server without an error, came to a good end; nothing if none did."""

    def is_lost(self, text: Text, line: int) -> bool:
        """Return whether NVFlare itself logged a line of a site's when the server was gone."""
        of_site = text.member in self.sites and find_producer(text.raw_line(line)) != TRAINER
        return of_site and text.time(line) >= self.gone


def gather_member_logs(logs: Iterable[Text], stopped: bool) -> MemberLogs:
    """Return those of a folder's logs that are its members'.

    Args:
        logs: of the folder.
        stopped: whether the driver ended the run: the server of a simulation, which is job.py's own process,
            was there until then.
    """
    sites = {log.member: log for log in logs if log.member}
    server = sites.pop(SERVER, None)
    if server is None:
        return MemberLogs(None, sites, over=False, gone=_NEVER)
    end = _OVER.search(server.raw)
    lost = min((time for log in sites.values() if (time := _find_loss(log)) > server.ends), default="")
    last = server.ends if lost else _NEVER
    gone = server.time(server.raw.count("\n", 0, end.start()) + 1) if end else last
    over = bool(end) or (stopped and _SIMULATED in server.raw)
    done = max((server.time(number) for number in _find_lines(server, COMPLETED)), default="")
    if end and not _ERRORS.search(server.raw):
        done = gone
    return MemberLogs(server, sites, over=over, gone=gone, lost="" if over else lost, done=done)


def _find_loss(log: Text) -> str:
    """Return when a site's process lost its connection before it came to its end; nothing if it did not."""
    joined = _JOINED.search(log.raw)
    closed = joined and re.search(rf"Not Connected\] is closed PID: {joined[1]}$", log.raw, re.MULTILINE)
    ended = ENDED.search(log.raw)
    if not closed or (ended and ended.start() < closed.start()):
        return ""
    return log.time(log.raw.count("\n", 0, closed.start()) + 1)


def _is_federated(server: Text) -> bool:
    """Return whether a server is a federation's: its host's console is of its parent process alone."""
    return _FEDERATED in server.raw[:_FIRST_LINE]


def find_contact(log: Text) -> int:
    """Return the last line in which a site reached the server with a result; 0 if none did."""
    return max(_find_lines(log, RETURNED), default=0)


def find_overcome(log: Text, members: MemberLogs) -> tuple[int, int]:
    """Return the line before which a site went on from all, and that before which it may have; 0 for none.

    It finished a task after it, and sent the result. If it was then given another, or the server's workflow
    came to its end, the result was good; else nobody knows. What a console has, and no member's log, may be
    of any process: some went on after it.
    """
    if not log.member:
        server = members.server
        shared = server is not None and not _is_federated(server)
        return 0, max(_find_lines(log, _LOGGED), default=0) if shared else 0
    good = min((find_contact(log), *_find_lines(log, ABORTS)[:1])) if log.member in members.sites else 0
    finished = [line for line in _find_lines(log, FINISHED) if line < good] if good else []
    given = max(_find_lines(log, GIVEN), default=0) if finished else 0
    done = (line for line in finished if line < given or log.time(line) <= members.done)
    return max(done, default=0), max(finished, default=0)


def _find_lines(log: Text, wanted: re.Pattern[str]) -> list[int]:
    found, line, at = [], 1, 0
    for match in wanted.finditer(log.raw):
        line += log.raw.count("\n", at, match.start())
        at = match.start()
        found.append(line)
    return found


def find_echoes(found: Iterable[Match]) -> Iterator[Match]:
    """Yield what was found in one workspace, but for what a console repeats of its members' logs.

    What the server reports after a site did is an echo.
    """
    found = list(found)
    told = {one.finding.cause for one in found if one.nearness < _NO_MEMBERS}
    found = [one for one in found if one.nearness < _NO_MEMBERS or one.finding.cause not in told]
    failing = (one for one in found if one.nearness == 0 and one.fails and one.rank != "guess")
    reported = min((one.time for one in failing), default=_NEVER)
    for one in found:
        yield one._replace(rank="echo") if one.nearness == 1 and one.time >= reported else one


def find_silent(members: MemberLogs) -> Iterator[Match]:
    """Find the server, if it died; else the sites whose logs stop as they end a trainer, or in a task.

    Of the latter, those died that stop before the server's end; without one they owe a result. A server that
    had waited for it was ended.
    """
    server = members.server
    if server is None:
        return
    over, owing = bool(ENDED.search(server.raw)), []
    for site, log in members.sites.items():
        given = list(GIVEN.finditer(log.raw))
        if given and not ENDED.search(log.raw) and not RETURNED.search(log.raw, given[-1].end()):
            owing.append((site, log, given[-1][1]))
    if members.lost and not (owing and (count_seconds(server.ends, members.lost) or 0) > _WAITED):
        yield make_stated(server, server.last, "server_died", stopped=server.ends[11:19])
        return
    if ending := [site for site, log in members.sites.items() if STOPS.search(log.raw.rstrip())]:
        log = members.sites[ending[0]]
        yield make_stated(log, log.last, "trainer_left_processes", sites=", ".join(ending[:_NAMED]))
    for site, log, task in owing:
        if over and log.ends >= server.ends:
            continue
        name, time = ("site_died", log.ends) if over else ("site_owes_a_result", _NEVER)
        before = f"{count_seconds(log.ends, server.ends) or 0:.0f}"
        words = {"site": site, "task": task, "said": _last_words(log, log.last)}
        yield make_stated(log, log.last, name, before=before, **words)._replace(time=time)


def add_last_words(one: Match, log: Text) -> Match:
    """Return what was found; a trainer's end without a word has the last that it printed."""
    if one.rank != "guess" or not log.member:
        return one
    cause = f"{one.finding.cause}{_last_words(log, one.at)}"
    return one._replace(finding=replace(one.finding, cause=cause))


def _last_words(log: Text, number: int) -> str:
    """Return a sentence with the last line of a site's trainer up to a line of its log."""
    before = reversed(log.raw_lines[:number])
    printed = (line.split(" - ", 3)[-1].strip() for line in before if find_producer(line) == TRAINER)
    said = next((one for one in printed if one and not _OF_LAUNCHER.match(one)), "")
    return f" The last that its trainer printed: {cut_line(said, _SAID)}" if said else ""


def find_ended_scripts(logs: list[Text]) -> Match | None:
    """Find a client that waits for a result and has no thread that runs the script."""
    for log in logs:
        stacks = find_stacks(log.body) if _WAITS in log.body else ()
        waiting = {one.start: one.text for one in stacks if _WAITS in one.text and _RUNS not in one.text}
        if not waiting:
            continue
        sites = list(dict.fromkeys(find_client(block) or "a site" for block in waiting.values()))[:_NAMED]
        line = log.line(next(iter(waiting)))
        return make_stated(log, line, "script_ended_in_client", sites=", ".join(sites))
    return None


def find_overwritten(logs: list[Text]) -> Match | None:
    """Find a server's log that began after NVFlare's console: it is another run's."""
    console = next((log for log in logs if log.file == folders.JOB_LOG), None)
    servers = [log for log in logs if log.begins and log.file.endswith(f"/{SERVER}/{LOG}")]
    server = min(servers, key=lambda log: log.begins, default=None)  # of the first simulation of several
    if console is None or server is None or not "" < console.begins < server.begins:
        return None
    if _is_federated(server):  # its parent process logs before it
        return None
    began = {"server": server.begins, "console": console.begins}
    return make_stated(server, 1, "two_runs_of_one_name", **began)._replace(time="")
