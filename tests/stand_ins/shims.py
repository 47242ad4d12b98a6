# SPDX-License-Identifier: Apache-2.0
"""What pyenv leaves on a PATH: a shim for each Python that any of its versions has, also with none chosen."""

NAMES = ("python", "python3", *(f"python3.{minor}" for minor in range(6, 16)))


def put(folder):
    """Make ``folder`` and put shims in it that start nothing."""
    folder.mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_text(f"#!/bin/sh\necho 'pyenv: {name}: command not found' >&2\nexit 127\n")
        (folder / name).chmod(0o755)
    return folder
