"""A host whose key ssh does not trust: what to type."""

import pytest

from rekindle.records import Outcome, read
from rekindle.results.journal import note_left

SSH = "Failed to connect to the host via ssh: "
STRICT = "and you have requested strict checking.\r\nHost key verification failed."
KNOWN = ">> ~/.ssh/known_hosts"


@pytest.mark.parametrize(
    ("message", "left"),
    [
        (
            f"No ED25519 host key is known for 192.0.2.7 {STRICT}",
            f"ssh does not know the host key of 192.0.2.7. Fix: ssh-keyscan -H 192.0.2.7 {KNOWN}, "
            "and compare it with the lessor's.",
        ),
        (
            "Host key verification failed.",
            f"ssh does not know the host key. Fix: ssh-keyscan -H ADDRESS {KNOWN}, "
            "and compare it with the lessor's.",
        ),
        (
            "@@@@\r\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\n@@@@\r\n"
            f"Host key for [192.0.2.7]:2222 has changed {STRICT}",
            "The host key of [192.0.2.7]:2222 is not the one that ssh knows. Fix: if it was rebuilt: "
            f"ssh-keygen -R '[192.0.2.7]:2222' && ssh-keyscan -H -p 2222 192.0.2.7 {KNOWN}; "
            "else do not trust it.",
        ),
        (
            "ssh: connect to host 192.0.2.7 port 22: Connection refused",
            f"{SSH}ssh: connect to host 192.0.2.7 port 22: Connection refused. "
            "Fix: check its address, port, user and key, and that it is still yours.",
        ),
    ],
)
def test_ssh_s_message_is_one_sentence_and_what_to_type(tmp_path, message, left):
    note_left(tmp_path, "gpu-1", "preflight", "unreachable", f"{SSH}{message}")
    assert read(tmp_path / "gpu-1/outcome.json", Outcome).message == left
