# SPDX-License-Identifier: Apache-2.0
"""The command ``rekindle``, also as ``python -m rekindle``."""

import sys

_INTERRUPTED = 130
"""As a shell has it of SIGINT."""


def run_from_shell() -> int:
    """Run the verb that the command line names; return the exit status, also of Ctrl-C while it is loaded."""
    try:
        from rekindle.cli import main  # noqa: PLC0415 - which takes the time in which it may be interrupted

        return main()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(run_from_shell())
