# SPDX-License-Identifier: Apache-2.0
"""What was typed, as it can be shown: complete, but for secrets."""

from pathlib import Path

import pytest

from rekindle.settings.command import format_command, hide_secrets


def typed(*arguments, extra=(), environ=None):
    return format_command(arguments, environ or {}, extra, Path.cwd() / "results/x")


def test_it_is_what_the_user_typed():
    found = typed("/venv/bin/ansible-playbook", "site.yml", "-i", "a b", "-e", "x=1", extra=["x=1"])
    assert found.words == ("/venv/bin/ansible-playbook", "site.yml", "-i", "a b", "-e", "x=1")
    assert (found.folder, found.results) == (str(Path.cwd()), "results/x")
    module = typed("/lib/ansible/__main__.py", "playbook", "site.yml")
    assert module.words == ("ansible-playbook", "site.yml")
    verb = typed("/lib/ansible/__main__.py", environ={"REKINDLE_TYPED": "rekindle site -i 'a b'"})
    assert verb.words == ("rekindle", "site", "-i", "a b")


@pytest.mark.parametrize(
    "value",
    [
        "ansible_password=SECRET",
        "budget=45m ansible_become_pass='SECRET x'",
        '{"vault_secrets": {"db": "SECRET"}}',
        "{a: [{hf_token: SECRET}]}",
        """rekindle_environ='{"HF_TOKEN": "SECRET"}'""",
        "rekindle_nvflare_checkout=https://me:SECRET@git.example/nvflare",
        "{unclosed: [ansible_password: SECRET",
    ],
)
def test_secrets_are_hidden_wherever_they_stand(value):
    assert "SECRET" not in hide_secrets(value)
    assert "****" in hide_secrets(value)
    for words in (("-e", value), (f"-e{value}",), (f"--extra-vars={value}",)):
        assert "SECRET" not in "".join(typed("ansible-playbook", *words, extra=[value]).words)


@pytest.mark.parametrize(
    "value",
    [
        "rekindle_jobs=a,b",
        '{"rekindle_jobs": ["a", "b"]}',
        "@vars.yml",
        "ansible_ssh_private_key_file=~/.ssh/id",
        "rekindle_jobs=[a]",
    ],
)
def test_what_is_no_secret_stays_as_it_was_typed(value):
    assert hide_secrets(value) == value
