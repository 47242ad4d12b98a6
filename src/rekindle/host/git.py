# SPDX-License-Identifier: Apache-2.0
"""Git's answers on checkouts that others made, whose own configuration runs nothing here."""

import os
import subprocess
from pathlib import Path

_LIMIT_S = 60
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never")
"""Before all else: a checkout's configuration may name programs for these."""
_FILTERS = ("archive",)
"""Commands by which files pass through filters: those of this user's configuration, such as LFS, alone."""
_LISTS_FILTERS = ("config", "--local", "--includes", "--null", "--name-only", "--get-regexp", r"^filter\.")
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}


def ask_git(*words: str, folder: Path | None = None, limit_s: float = _LIMIT_S) -> bytes:
    """Return what git prints.

    Args:
        words: its command and options.
        folder: of a checkout.
        limit_s: after which it is ended.

    Raises:
        subprocess.SubprocessError: it failed, with its error output, or took too long.
        OSError: there is no git.
    """
    command, environ = ["git", *_SAFE, *(("-C", str(folder)) if folder else ())], {**os.environ, **_QUIET}
    if words[0] in _FILTERS and folder:
        listed = _run([*command, *_LISTS_FILTERS], environ, limit_s).stdout
        names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
        environ["GIT_CONFIG_COUNT"] = str(len(names))
        for at, setting in enumerate(names):
            environ |= {f"GIT_CONFIG_KEY_{at}": setting, f"GIT_CONFIG_VALUE_{at}": ""}
    done = _run([*command, *words], environ, limit_s)
    done.check_returncode()
    return done.stdout


def _run(command: list[str], environ: dict[str, str], limit_s: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, env=environ, capture_output=True, timeout=limit_s, check=False)
