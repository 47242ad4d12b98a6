"""Finds in a log the lines that report an error, and what shows that the work went on after them."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .texts import Text

_NEEDLES = (
    "n't", "match", "err", "fail", "exception", "traceback", "fatal", "denied", "refus", "timed out",
    "timeout", "abort", "kill", "signal", "nvrm", "xid", "unable", "cannot", "could", "missing",
    "invalid", "unknown", "not ", "no ", "undefined", "warn", "segm", "core dumped", "illegal", "oom",
    "out of", "lost", "stale", "incompat", "unsupp", "unauth", "too ", "violat", "expired", "bug:",
    "oops", "null p", "retry", "trying", "unmet", "depends", "conflict", "requires", "ignor",
    "terminat", "forcing", "cancel", "panic", "assert", "caused by", "is not", "e: ", "unre",
    "read-only", "drain", "lfs", "stuck", "nan", "status = ", "lock", "finish", "loss", "accuracy",
    "it/s", "success", "done", "complete", "resum", "resolved", ": ok=", "installed", "setting up",
    "passed", "sync", "saved", "started", "training", "processing", "rebuilt", "is up",
)
"""A line that may matter has one of these, in lower case."""
_MOST = 2000
"""Lines of each end of a text that are looked at."""
_CUT = 4000
_LEVEL = re.compile(
    r"^\W{0,8}(?:\d[\d:.,T/+ Z-]{5,40} )?(?:\[\s?)?(?:E|ERR(?:OR|O)?|FATAL|CRITICAL|SEVERE|fatal|error|Error|Fatal)"
    r"(?:\[\d+\]|:\d+)?\s{0,3}(?:\]|:|!|\s-|\s{2}|$)"
    r"|(?:^|[\s\[|:=\"(-])(?:ERROR|CRITICAL|FATAL|SEVERE|ERRO)(?:[\s\]|:\")-]|$)"
    r"|(?:^|[\w)\]] ?): (?:fatal |internal |configuration )?(?:[Ee]rror|ERROR|[Ff]atal|FATAL)\b"
    r"|^(?:[Ff]atal|[Ii]nternal|[Rr]untime|[Uu]nexpected|[Ss]yntax|[Cc]onfiguration) [Ee]rror\b"
    r"|\b(?:level|lvl|severity)\"?[=:] ?\"?(?:error|fatal|crit)"
    r"|^[EF]\d{4} [\d:.]{6,20} |^\d{4}-\d\d-\d\d [\d:.]{6,20}: [EF] |\[[EF]\d{0,4} ?[\d:.]{0,20} ?\w+\.cpp"
    r"|NCCL WARN|NVRM: (?!loading)|^(?:docker|ssh|scp|sftp|mount[.\w]*|modprobe|insmod|nvcc|curl|E|×|tar|cp|mv|mkdir|ln"
    r"|rsync|git|sudo|podman|apptainer|FATAL|kubectl|helm|bash|sh|/bin/\w+|\S{1,60}\.sh|env|nohup|nvidia-\w+): "
    r"|^curl: \(\d|^[×✗]|^[├╰]─[▶>]|^Err:\d|^  × |^\s{0,4}Caused by:|^(?:FAILED|FATAL|fatal): |^ERROR!|^nvcc fatal|^Warning {2,}\w|\bBUG: "
    r"|^(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Abort|Interrupt|Failure|Exhausted|Unavailable)\b(?::|$)"
)
_INFORMS = re.compile(
    r"(?:^|[\s\[|-])(?:INFO|DEBUG|TRACE|NOTICE|NCCL INFO)(?:[\s\]|:-]|$)|^[IW]\d{4} [\d:.]{6,20} "
    r"|^\d{4}-\d\d-\d\d [\d:.]{6,20}: [IW] |\[W\d{0,4} ?[\d:.]{0,20} ?\w+\.cpp|(?:^|[\s\[|-])(?i:warning|warn)(?:[\s\]|:-]|$)"
    r"|^W: |level=(?:info|warning|debug)|#\d{1,3} \d"
)
_BENIGN = re.compile(
    r"(?i)\bretry|re-?try|\bretrying|fall(?:ing|s)? ?back|\bignor(?:ed|ing)\b|\bskipp(?:ed|ing)\b|\bno errors?\b|\b0 errors"
    r"|errors?[=: ]+0\b|failed[=: ]+0\b|not fatal|harmless|\bPASSED\b|trying (?:again|\d)|reconnect|resum(?:ed|ing)"
    r"|will be (?:created|ignored|used|skipped)|unable to register cu|attempting to register factory|\bcaught\b[^\n]{0,80}using"
    r"|-Werror|-Wno-error|test_\w+|(?:mean|relative|absolute|squared|validation|train|test)_? ?error\b|error[_ ]?(?:rate|handling|callback|s?\.(?:cpp|py|h|c)\b)"
    r"|on_error|using \w+ instead|waiting for|without \w+ support|can be ignored|ACPI|Error Record|module verification failed"
    r"|dependency resolver does not currently|not a git repository|no alternatives for|run_poller"
    r"|notebook|retries left\)|Plugin load \(|has fallen off, |taints? kernel|uncorrectable: 0"
)
_WENT_ON = re.compile(
    r"(?i)\b(?:epoch|step|iter(?:ation)?|round|batch|global_step)s?\b[ =:#\[(]{0,3}\d[^\n]{0,160}?\b(?:loss|acc\w*|finished|done|completed?)\b"
    r"|\{'(?:train_)?(?:loss|runtime)'|(?:loss|accuracy): ?[\d.]+|\d(?:\.\d+)?(?:it/s|s/it)\b"
    r"|\bsuccessful(?:ly)? (?:installed|built|registered|completed|connected|finished|tagged)|\b(?:completed|finished|exited|registered|connected|done) successfully"
    r"|\btraining (?:is )?(?:finished|completed?|done|goes on)\b|JobState=COMPLETED|FINISHED:COMPLETED|finished processing task"
    r"|^\W{0,3}(?:info:?\s)?(?:all )?done\b[\s.!]*$|: done\b|\bdone: \d|\bresumed from|resum(?:ed|ing) normal|resolved after|\breconnected\b|\bis up after\b"
    r"|^Setting up \S+ \(|^Installed \d+ packages|=+ \d+ passed[^\n]{0,60}=$|\bsynced \d|\bsaved (?:model|checkpoint)|\bInit COMPLETE\b"
    r"|\bBatch size \d+ succeeded|registered successfully|\brebuilt in\b|naming to \S+ done|loading NVIDIA UNIX|: Started \S+\.service"
    r"|\bFinished (?:FedAvg|\w+ Training)|\btask_processed: True|\bSaved? (?:the )?(?:best |final |server )?model\b|\bRound \d+ (?:ended|finished)"
    r"|^Status: (?:Downloaded|Image is up)|\bPull complete\b|\bis now complete\b"
    r"|\bdone, accuracy|\ball (?:clients|sites|ranks|tests|checks) (?:done|passed)"
)
_GOES_ON = re.compile(r"\s*(?:Caused by:|[├╰]─[▶>](?! \[)|details = |\[?msg\]?:)\s*")
_NEAR = 3
_RECAP = re.compile(r"^(\S{1,200})\s+: ok=\d+\s+changed=\d+\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)
_RANK = re.compile(r"^\s{0,4}(?:\S{1,64} {0,10}\| )?(?:\[(?:rank)?(\d{1,5})\]:?|(\d{1,5}): |\[\d+,(\d+)\]<)")


class Line(NamedTuple):
    """One line of a text that may report an error, or that the work went on."""

    number: int
    text: str
    """Without prefixes, and cut; with what it says it was caused by."""
    printed: str
    """With its logger's prefix."""
    level: bool
    """Whether it says itself that it is an error."""
    informs: bool
    """Whether it says itself that it is none."""
    benign: bool
    went_on: bool
    rank: str


def stream(line: str) -> str:
    """Return the rank that printed a line, or nothing."""
    match = _RANK.match(line)
    return next(filter(None, match.groups()), "") if match else ""


def lines(text: Text) -> list[Line]:
    """Return the lines of ``text`` that may matter, in order; of very many those of both ends."""
    numbers = [number for number in text.telling if _matters(text.content(number))]
    if len(numbers) > 2 * _MOST:
        numbers = numbers[:_MOST] + numbers[-_MOST:]
    return list(_joined(_line(text, number) for number in numbers))


def _matters(line: str) -> bool:
    lowered = line[:_CUT].lower()
    return any(needle in lowered for needle in _NEEDLES)


def _joined(found: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines; what only goes on with a message is joined to it."""
    last: Line | None = None
    for line in found:
        goes_on = _GOES_ON.match(line.text)
        if last and goes_on and line.number - last.number <= _NEAR:
            more = f"{last.text.rstrip(':')}: {line.text[goes_on.end() :]}"
            last = last._replace(text=more[:_CUT], level=True)
            continue
        if last:
            yield last
        last = line
    if last:
        yield last


def settled_hosts(text: Text) -> set[str]:
    """Return the hosts for which Ansible's recap has neither failed nor unreachable."""
    if ": ok=" not in text.body:
        return set()
    return {match[1] for match in _RECAP.finditer(text.body) if match[2] == match[3] == "0"}


def _line(text: Text, number: int) -> Line:
    content = text.content(number)[:_CUT]
    told = content.strip()
    if told.endswith(":"):
        told = f"{told} {_next(text, number)}"
    raw = text.raw_line(number)[:_CUT]
    printed = (raw if raw.endswith(content) else content).strip()
    return Line(
        number=number,
        text=told,
        printed=printed,
        level=bool(_LEVEL.search(printed) or _LEVEL.search(told)),
        informs=bool(_INFORMS.search(printed)),
        benign=bool(_BENIGN.search(content)),
        went_on=bool(_WENT_ON.search(content)),
        rank=stream(raw),
    )


def _next(text: Text, number: int) -> str:
    """Return the next line that is not empty."""
    end = text.start(number) + len(text.content(number))
    return text.body[end : end + _CUT].lstrip().partition("\n")[0].rstrip()
