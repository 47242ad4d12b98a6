"""The collector (roles/preflight), run on a host in one round trip, and its answer by probe."""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rekindle.records import Complaint

_LIMIT = 8 << 20
"""Characters of an answer."""


class FactsError(Complaint):
    """The host's answer cannot be used."""


class Frame(NamedTuple):
    """What one probe answered."""

    status: str
    """Exit code, or ``timeout``."""
    text: str
    """Standard output and error together; what there was of it if the probe was given up."""

    @property
    def answered(self) -> bool:
        """Whether the probe succeeded."""
        return self.status == "0"

    @property
    def late(self) -> bool:
        """Whether the probe was given up, as it took too long."""
        return self.status == "timeout"

    @property
    def first_line(self) -> str:
        """The first line that says something, in words rather than XML if there is such a line."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return next((line for line in lines if not line.startswith("<")), lines[0] if lines else "no output")


class Frames(dict[str, Frame]):
    """Frames by name; a missing one is the host's fault."""

    def __missing__(self, name: str) -> Frame:
        """Refuse an answer without ``name``."""
        raise FactsError(
            f"The host's answer has nothing on {name}.",
            "run preflight again; if it stays, do not trust that host.",
        )


def there(path: Path, name: str, nonce: str) -> str:
    """Return shell commands for the frame ``name``, which is `answered` if ``path`` is there."""
    return f"test -e {shlex.quote(str(path))}; printf '\\n@@{nonce} {name} %s\\n' $?"


def parse(raw: str, nonce: str) -> Frames:
    """Return the frames of ``raw`` by name; bytes in it that are no UTF-8 are shown as U+FFFD.

    Lines may end as a terminal ends them, which ssh gives to commands without input.

    Raises:
        FactsError: there is none, the last one is missing, or there is no end of them.
    """
    raw = raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\r\n", "\n")
    if len(raw) > _LIMIT:
        raise FactsError(
            f"The host says more than {_LIMIT >> 20} MiB of itself, where a machine with 8 GPUs says 0.5.",
            "do not trust that host.",
        )
    parts = re.split(rf"^@@{re.escape(nonce)} (\S+) (\S+)\n", raw, flags=re.MULTILINE)
    names, statuses, texts = parts[1::3], parts[2::3], parts[3::3]
    frames = Frames(
        (name, Frame(status, text.removesuffix("\n")))
        for name, status, text in zip(names, statuses, texts, strict=True)
    )
    if not frames:
        said = Frame("", raw).first_line[:200]
        raise FactsError(
            f"The host did not run the collector, it said: {said}.",
            "see that this user's login shell runs sh.",
        )
    if "end" not in frames:
        raise FactsError(
            f"The host's answer breaks off in {names[-1]}.",
            "run preflight again; if it stays, check the connection and the host's memory.",
        )
    return frames


LIMITS_S = (20, 60)
"""For the probes of a first try, and for those that were late of a second one."""


def ask(
    execute: Callable[..., dict[str, Any]],
    script: Path,
    root: str,
    tmpdir: str,
    *probes: str,
    through: Sequence[str] = (),
) -> Frames:
    """Return what the host answers, which changes nothing on it; a probe that was late is tried once more.

    Args:
        execute: an action's ``_low_level_execute_command``.
        script: the collector.
        root: Rekindle's folder on the host, as the inventory has it.
        tmpdir: TMPDIR there.
        probes: names of those to try; all by default.
        through: command and options by which it is run elsewhere, such as srun's.

    Raises:
        FactsError: it failed, or what it says is no answer.
    """
    frames = Frames()
    for limit_s in LIMITS_S:
        nonce = secrets.token_hex(8)
        command = shlex.join([*through, "sh", "-s", "--", nonce, root, tmpdir, str(limit_s), *probes])
        answer = execute(command, sudoable=False, in_data=script.read_bytes())
        if answer["rc"] != 0:
            said = " ".join(answer["stderr"].split())[-500:]
            raise FactsError(f"The collector failed on the host: {said}")
        frames.update(parse(answer["stdout"], nonce))
        probes = tuple(name for name, frame in frames.items() if frame.late)
        if not probes:
            break
    return frames
