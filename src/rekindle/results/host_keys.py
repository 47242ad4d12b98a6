# SPDX-License-Identifier: Apache-2.0
"""What to type where ssh does not trust a host's key."""

import re
import shlex

from rekindle.records import Complaint

_CHANGED = re.compile(r"Host key for \S{1,300} has changed")
_REFUSED = "Host key verification failed"


def describe_host_key(message: str, address: str, port: int | None = None) -> Complaint | None:
    """Return, for ssh's message that it does not trust a host's key, that in a sentence and its fix.

    Args:
        message: which the host may have written: nothing in it becomes part of a command.
        address: of the host, from the inventory.
        port: likewise, if it has one.
    """
    scan = f"ssh-keyscan -H {f'-p {port:d} ' if port else ''}{shlex.quote(address)} >> ~/.ssh/known_hosts"
    if _CHANGED.search(message):
        known = shlex.quote(f"[{address}]:{port:d}" if port else address)
        return Complaint(
            f"The host key of {address} is not the one that ssh knows.",
            f"if it was rebuilt: ssh-keygen -R {known} && {scan}; else do not trust it.",
        )
    if _REFUSED in message:
        return Complaint(
            f"ssh does not know the host key of {address}.", f"{scan}, and compare it with the lessor's."
        )
    return None
