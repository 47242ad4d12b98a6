"""What to type where ssh does not trust a host's key."""

import re

from rekindle.records import Complaint

_UNKNOWN = re.compile(r"No \S{1,40} host key is known for (\S{1,300}) and")
_CHANGED = re.compile(r"Host key for (\S{1,300}) has changed")
_REFUSED = "Host key verification failed"
_PORT = re.compile(r"\[(.+)\]:(\d{1,5})")
"""As ssh writes an address with a port of its own."""


def host_key(message: str) -> Complaint | None:
    """Return, for ssh's message that it does not trust a host's key, that in a sentence and its fix."""
    if changed := _CHANGED.search(message):
        address = changed[1]
        return Complaint(
            f"The host key of {address} is not the one that ssh knows.",
            f"if it was rebuilt: ssh-keygen -R '{address}' && {_scan(address)}; else do not trust it.",
        )
    if _REFUSED in message:
        unknown = _UNKNOWN.search(message)
        of, address = (f" of {unknown[1]}", unknown[1]) if unknown else ("", "ADDRESS")
        return Complaint(
            f"ssh does not know the host key{of}.", f"{_scan(address)}, and compare it with the lessor's."
        )
    return None


def _scan(address: str) -> str:
    port = _PORT.fullmatch(address)
    return f"ssh-keyscan -H {f'-p {port[2]} {port[1]}' if port else address} >> ~/.ssh/known_hosts"
