# SPDX-License-Identifier: Apache-2.0
"""Whether a site reaches its federation's server, and how fast, before NVFlare starts; on hosts.

Runs in an environment that has NVFlare, and imports the standard library alone.
"""

from importlib import metadata


class Trouble(Exception):
    """Why the server is not reached, and the fix."""

    def __init__(self, message: str, fix: str) -> None:
        """Take both; a sentence each."""
        super().__init__(message, fix)
        self.message, self.fix = message, fix


def find_release() -> str:
    """Return the release of NVFlare in this environment; empty if it has none."""
    try:
        return metadata.version("nvflare")
    except metadata.PackageNotFoundError:
        return ""
