# SPDX-License-Identifier: Apache-2.0
"""Git's answers on checkouts that others made, whose own configuration runs nothing here."""

import os
import subprocess
from pathlib import Path

_LIMIT_S = 20
_NEVER = {
    **{"core.fsmonitor": "false", "core.hooksPath": "/dev/null", "protocol.ext.allow": "never"},
    **dict.fromkeys(
        ("gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program"), "/bin/false"
    ),
}
_SAFE = [word for name, value in _NEVER.items() for word in ("-c", f"{name}={value}")]
"""Before all else: a checkout's configuration may name programs for these, and its commits ask for gpg."""
_FILTERS = ("archive",)
"""Commands by which files pass through filters: those of this user's configuration, such as LFS, alone."""
_LISTS_FILTERS = (
    "config",
    "--show-scope",
    "--includes",
    "--null",
    "--name-only",
    "--get-regexp",
    r"^filter\.",
)
_USERS = {b"global", b"system"}
"""Scopes of a setting that no checkout has."""
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
        listed = _run([*command, *_LISTS_FILTERS], environ, limit_s)
        if listed.returncode > 1:  # 1: there are none; before git 2.26 no scope is shown
            listed.check_returncode()
        words_of = listed.stdout.split(b"\0")
        pairs = zip(words_of[::2], words_of[1::2], strict=False)
        names = [os.fsdecode(name) for scope, name in pairs if scope not in _USERS]
        environ["GIT_CONFIG_COUNT"] = str(len(names))
        for at, setting in enumerate(names):
            environ |= {f"GIT_CONFIG_KEY_{at}": setting, f"GIT_CONFIG_VALUE_{at}": ""}
    done = _run([*command, *words], environ, limit_s)
    done.check_returncode()
    return done.stdout


def _run(command: list[str], environ: dict[str, str], limit_s: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, env=environ, capture_output=True, timeout=limit_s, check=False)
