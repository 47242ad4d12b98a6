# SPDX-License-Identifier: Apache-2.0
from itertools import pairwise

import pytest
from answers import frames

from rekindle.hostfacts import pip
from rekindle.hostfacts.frames import Frame

NO_ENVIRONMENT = Frame("1", "")


def settings(**changed):
    found, problems = pip.read_settings(frames(**{"pip_env": NO_ENVIRONMENT, **changed}))
    assert problems == ()
    return found


def conf(text, section="global"):
    return f"[{section}]\n{text}\n"


ORDER = ["pip_xdg", "pip_etc", "pip_legacy", "pip_user"]


@pytest.mark.parametrize(("low", "high"), list(pairwise(ORDER)))
def test_each_file_wins_over_the_one_before(low, high):
    assert settings(**{low: conf("timeout = 1"), high: conf("timeout = 2")}) == {"timeout": "2"}


def test_the_environment_wins_unless_it_is_empty():
    file = conf("index_url = https://one.example/path\n--timeout = 1", "install")
    found = settings(pip_etc=file, pip_env="PIP_INDEX_URL=https://two.example/path\nPIP_TIMEOUT=\n")
    assert found == {"index-url": "https://two.example/path", "timeout": "1"}


def test_a_file_of_ones_own_replaces_the_users_if_it_is_there():
    files = {"pip_etc": conf("timeout = 1"), "pip_user": conf("retries = 2"), "pip_file": conf("timeout = 3")}
    assert settings(pip_env="PIP_CONFIG_FILE=/x/pip.conf\n", **files) == {"timeout": "3"}
    files["pip_file"] = Frame("1", "cat: No such file or directory\n")
    both = {"timeout": "1", "retries": "2"}
    assert settings(pip_env="PIP_CONFIG_FILE=/x/pip.conf\n", **files) == both


def test_dev_null_turns_all_files_off():
    found = settings(pip_env="PIP_CONFIG_FILE=/dev/null\nPIP_RETRIES=4\n", pip_etc=conf("timeout = 1"))
    assert found == {"retries": "4"}


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://me:a@b/c@host.example/path", "https://****@host.example/path"),
        ("https://token@host.example/path", "https://****@host.example/path"),
        ("https://host.example/path", "https://host.example/path"),
        ("https://host.example/path?sig=secret", "https://host.example/path?****"),
        ("me:a@b@proxy.example:3128", "****@proxy.example:3128"),
        ("https://me:a b@host.example/wheels", "https://****@host.example/wheels"),
        ("https://me:a/b c:d@host.example/wheels", "https://****@host.example/wheels"),
        ("https://me:a@b c@host.example/wheels", "https://****@host.example/wheels"),
        ("https://host.example/TOKEN/org/python/wheels/", "https://host.example/****/wheels/"),
        ("https://host.example/priv/TOKEN/wheels?a=/b", "https://host.example/****/wheels?****"),
        ("https://host.example:8443/wheels", "https://host.example:8443/wheels"),
        ("file:///srv/wheels/all", "file:///srv/wheels/all"),
    ],
)
def test_passwords_are_masked(url, masked):
    assert settings(pip_env=f"PIP_INDEX_URL={url}\n") == {"index-url": masked}
    several = conf(f"extra-index-url =\n    {url}\n    {url}")
    assert settings(pip_user=several) == {"extra-index-url": f"{masked} {masked}"}


def test_a_file_that_does_not_parse_is_a_problem_and_keeps_its_secrets():
    broken = "https://me:secret@host.example/path\n"
    found, problems = pip.read_settings(
        frames(pip_etc=broken, pip_user=conf("retries = 2"), pip_env=NO_ENVIRONMENT)
    )
    assert found == {"retries": "2"}
    assert [problem.name for problem in problems] == [pip.UNREAD]
    assert "secret" not in problems[0].message


def test_a_file_that_cannot_be_read_is_a_problem_and_one_that_is_not_there_is_none():
    denied = Frame("2", "sed: can't read /etc/pip.conf: Permission denied\n")
    _, problems = pip.read_settings(frames(pip_etc=denied, pip_env=NO_ENVIRONMENT))
    (problem,) = problems
    assert (problem.name, problem.message) == (
        pip.UNREAD,
        "pip's file cannot be read: sed: can't read /etc/pip.conf: Permission denied.",
    )
    absent = Frame("2", "sed: can't read /etc/pip.conf: No such file or directory\n")
    assert pip.read_settings(frames(pip_etc=absent, pip_env=NO_ENVIRONMENT))[1] == ()


def test_the_section_of_the_command_wins_over_a_later_file():
    files = {"pip_etc": conf("timeout = 1", "install"), "pip_user": conf("timeout = 2")}
    assert settings(**files) == {"timeout": "1"}
