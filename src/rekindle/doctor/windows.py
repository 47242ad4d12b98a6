"""The parts of a large text in which anything that the catalogue knows can stand."""

from .texts import SMALL, Text

_NEAR, _FAR = 16, 170
"""Lines around one that may matter, which an entry over several lines may need; those of stacks need more."""
_STACKS = ("traceback", "mainthread", "rmtree", "root cause", "_python_exit")
NEEDLES = (
    "err",
    "fail",
    "exception",
    "traceback",
    "unable",
    "can't",
    "cannot",
    "could not",
    "denied",
    "refus",
    "timed out",
    "timeout",
    "abort",
    "kill",
    "signal",
    "nvrm",
    "unhandled",
    "missing",
    "invalid",
    "unknown",
    "not found",
    "not known",
    "not compatible",
    "no space",
    "no such",
    "no longer",
    "no working",
    "no tensors",
    "no dnn",
    "no valid",
    "out of memory",
    "out_of_memory",
    "oom",
    "mib free of",
    "inodes free",
    "is down",
    "is drain",
    "jobstate=",
    "due to ",
    "cancelled",
    "another",
    "mismatch",
    "undefined",
    "unsupported",
    "too old",
    "too long",
    "insufficient",
    "duplicate",
    "ordinal",
    "no cuda",
    "no kernel",
    "nokernel",
    "not built with",
    "not compiled",
    "not initialized",
    "has no attribute",
    "peer gone",
    "gone:",
    "closed by peer",
    "not a valid",
    "launcher",
    "waiting for",
    "trying",
    "did not join",
    "ended ",
    "stopped",
    "terminat",
    "mixing",
    "need to be",
    "outside",
    "as_tensor",
    ".cuda(",
    "needs ",
    "address already",
    "eaddrinuse",
    "forward",
    "reset by",
    "broken",
    "fallen",
    "edac",
    "watchdog",
    "mainthread",
    "rmtree",
    "is none",
    "disabled",
    "disallow",
    "illegal",
    "source was compiled",
    "keras",
    "ptx",
    "shm",
    " in use",
    "not yet",
    "dead job",
    "inprocess",
    "has not",
    "does not",
    "no nvidia",
    "no module",
    "not_initialized",
    "exitcode",
    "tracing",
    "_gone",
    "nodedown",
    "already exited",
    "never",
    "exceeded",
)
"""Of every failure that the catalogue knows, a line has one of these, in lower case."""


def windows(text: Text) -> tuple[tuple[int, int], ...]:
    """Return the beginnings and ends of the parts of the body, in order; of a small text the whole."""
    if len(text.body) <= SMALL:
        return ((0, len(text.body)),)
    found: list[tuple[int, int]] = []
    for number in text.telling:
        line = text.content(number).lower()
        if not any(needle in line for needle in NEEDLES):
            continue
        last = number + (_FAR if any(word in line for word in _STACKS) else _NEAR)
        first = max(1, number - _NEAR)
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple((text.start(first), text.start(last)) for first, last in found)
