# SPDX-License-Identifier: Apache-2.0
"""A host's uv is one that runs there, by the lock's digest, whatever this machine is."""

import platform
import zipfile

import pytest

from rekindle.capsule import uv
from rekindle.records import RecordError

pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture
def asked(monkeypatch):
    """Return the architectures for which wheels were fetched; each wheel's uv is its architecture's name."""
    found = []

    def fetch(pins, folder, target):
        (pin,) = pins
        assert (pin.name, target.lock) == ("uv", "uv.txt")
        assert f"uv=={pin.version}" in target.text
        found.append(target.architecture)
        with zipfile.ZipFile(folder / "uv.whl", "w") as wheel:
            wheel.writestr(f"uv-{pin.version}.data/scripts/uv", target.architecture)
        return [folder / "uv.whl"]

    monkeypatch.setattr(uv, "fetch_pins", fetch)
    return found


def _machine(monkeypatch, system, machine):
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)


def test_a_host_like_this_machine_gets_its_own(monkeypatch, asked):
    _machine(monkeypatch, "Linux", "x86_64")
    assert uv.provide_uv("x86_64").name == "uv"
    assert asked == []


@pytest.mark.parametrize(("system", "machine"), [("Darwin", "arm64"), ("Linux", "aarch64")])
def test_any_other_host_gets_that_of_the_locked_wheel_which_is_fetched_once(
    monkeypatch, asked, system, machine
):
    _machine(monkeypatch, system, machine)
    for _ in range(2):
        path = uv.provide_uv("x86_64")
        assert (path.name, path.read_text(), path.stat().st_mode & 0o777) == ("uv", "x86_64", 0o700)
    assert asked == ["x86_64"]


def test_without_one_here_it_is_a_sentence(monkeypatch):
    _machine(monkeypatch, "Linux", "x86_64")

    def lacks():
        raise FileNotFoundError("/nowhere/uv")

    monkeypatch.setattr(uv, "find_uv_bin", lacks)
    with pytest.raises(RecordError, match=r"is not installed here\. Fix: install it beside Ansible"):
        uv.provide_uv("x86_64")
