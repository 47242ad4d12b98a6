# SPDX-License-Identifier: Apache-2.0
"""The collector (roles/preflight), run on a host in one round trip, and its answer by probe."""

import re
import secrets
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rekindle.host import paths
from rekindle.records import Complaint

COLLECTOR = paths.find_collection() / "roles/preflight/files/collect.sh"
_LIMIT = 8 << 20
"""Characters of an answer."""


class FactsError(Complaint):
    """The host's answer cannot be used."""


class Frame(NamedTuple):
    """What one probe answered."""

    status: str
    """Exit code, or ``timeout``."""
    text: str
    """Standard output and error together; partial if the probe was given up."""

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
        """The first line that is not empty, and not XML if possible."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return next((line for line in lines if not line.startswith("<")), lines[0] if lines else "no output")


class Frames(dict[str, Frame]):
    """Frames by name; a missing one is an error of the host."""

    def __missing__(self, name: str) -> Frame:
        """Refuse an answer without ``name``."""
        raise FactsError(
            f"The host's answer has nothing on {name}.",
            "run preflight again; if it stays, do not trust that host.",
        )


class PartialFrames(Frames):
    """Frames of the probes that were asked for alone; any other is as one whose program is not there."""

    def __missing__(self, name: str) -> Frame:
        """Return a frame without an answer."""
        return Frame("127", "")


def parse_frames(raw: str, nonce: str) -> Frames:
    """Return the frames of ``raw`` by name; bytes that are not UTF-8 become U+FFFD.

    Lines may have a terminal's ends, as ssh gives one to commands without input.

    Raises:
        FactsError: there is none, the last one is missing, or there are too many.
    """
    raw = raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\r\n", "\n")
    if len(raw) > _LIMIT:
        raise FactsError(
            f"The host's answer has more than {_LIMIT >> 20} MiB; a machine with 8 GPUs sends 0.5.",
            "do not trust that host.",
        )
    parts = re.split(rf"^@@{re.escape(nonce)} (\S+) (\S+)\n", raw, flags=re.MULTILINE)
    names, statuses, texts = parts[1::3], parts[2::3], parts[3::3]
    frames = Frames(
        (name, Frame(status, text.removesuffix("\n")))
        for name, status, text in zip(names, statuses, texts, strict=True)
    )
    if not frames:
        printed = Frame("", raw).first_line[:200]
        raise FactsError(
            f"The host did not run the collector, it printed: {printed}.",
            "see that this user's login shell runs sh.",
        )
    if "end" not in frames:
        raise FactsError(
            f"The host's answer breaks off in {names[-1]}.",
            "run preflight again; if it stays, check the connection and the host's memory.",
        )
    return frames


def ask_paths(
    execute: Callable[..., dict[str, Any]], host: str, what: str, paths: dict[str, Path], last: str = ":"
) -> Frames:
    """Return a frame for each path, `answered` if ``host`` has it; the last frame has ``last``'s output.

    Raises:
        FactsError: the answer cannot be used; the message names ``what`` the paths are.
    """
    nonce = secrets.token_hex(8)
    answer, end = "; printf '\\n@@%s %s %%s\\n' $?", f"printf '@@{nonce} end 0\\n'"
    tests = [f"test -e {shlex.quote(str(path))}{answer % (nonce, name)}" for name, path in paths.items()]
    try:
        return parse_frames(execute("; ".join([*tests, last, end]))["stdout"], nonce)
    except FactsError:
        raise FactsError(f"{host} does not list its {what}.", "see that its login shell runs sh.") from None


LIMITS_S = (20, 60)
"""For all probes of the first try, and the late ones of the second."""


def ask_frames(
    execute: Callable[..., dict[str, Any]],
    root: str,
    tmpdir: str,
    *probes: str,
    through: Sequence[str] = (),
    limits_s: Sequence[int] = (),
) -> Frames:
    """Return the host's answer, without changes to the host; a late probe is tried again.

    Args:
        execute: an action's ``_low_level_execute_command``.
        root: Rekindle's folder on the host, from the inventory.
        tmpdir: TMPDIR there.
        probes: names of the probes; all by default.
        through: command and options that run it elsewhere, such as srun's.
        limits_s: seconds of each try; empty for the usual ones.

    Raises:
        FactsError: it failed, or its answer cannot be used.
    """
    frames = Frames()
    for limit_s in limits_s or LIMITS_S:
        nonce = secrets.token_hex(8)
        command = shlex.join([*through, "sh", "-s", "--", nonce, root, tmpdir, str(limit_s), *probes])
        answer = execute(command, sudoable=False, in_data=COLLECTOR.read_bytes())
        try:
            frames.update(parse_frames(answer["stdout"], nonce))
        except FactsError:
            if answer["rc"] == 0:
                raise
            raise _explain_end(answer) from None
        probes = tuple(name for name, frame in frames.items() if frame.late)
        if not probes:
            break
    return frames


def _explain_end(answer: dict[str, Any]) -> FactsError:
    """Return what a login said that ended before the collector's last frame."""
    words = " ".join((answer["stderr"].strip() or answer["stdout"]).split())[-500:]
    fix = "log in as this user by hand, and see what it prints before sh runs; ansible_user names another."
    if re.search(r"cannot fork|fork: ", words, re.IGNORECASE):
        fix = "raise nproc in /etc/security/limits.conf, or pids.max of the login's cgroup."
    return FactsError(
        f"The collector failed on the host (status {answer['rc']}): {words or 'it printed nothing'}.", fix
    )
