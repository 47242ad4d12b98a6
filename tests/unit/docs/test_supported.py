# SPDX-License-Identifier: Apache-2.0
"""The table of what is supported is what the code's data has."""

import re

import pytest
from runners.plays import REPOSITORY

from rekindle.hostfacts import find_archive
from rekindle.hostfacts.needs import NEWEST_PYTHON, OLDEST_PYTHON
from rekindle.solver.catalogue import list_builds, list_environments, load_rules

ROWS = dict(
    re.findall(r"^\| ([\w ]+) \| (.+) \|$", (REPOSITORY / "docs/tutorial/lease.md").read_text(), re.MULTILINE)
)


def minor(version):
    return ".".join(map(str, version))


def test_glibc():
    assert f"glibc {load_rules().locks.glibc} or newer" in ROWS["hosts"]


@pytest.mark.parametrize(("machine", "name"), [("x86_64", "x86-64"), ("aarch64", "aarch64")])
def test_architectures(machine, name):
    brought = find_archive("", machine)
    assert f"the controller brings {brought.version.rpartition('.')[0]}" in ROWS["their Python"]
    assert name in ROWS["hosts"]


def test_pythons_of_hosts():
    assert ROWS["their Python"].startswith(f"{minor(OLDEST_PYTHON)} to {minor(NEWEST_PYTHON)};")


def test_pythons_of_the_controller():
    bounds = re.search(
        r"\((\d), (\d+)\) <= sys.version_info < \((\d), (\d+)\)", (REPOSITORY / "Makefile").read_text()
    )
    oldest, newest = f"{bounds[1]}.{bounds[2]}", f"{bounds[3]}.{int(bounds[4]) - 1}"
    assert ROWS["this machine"].startswith(f"Python {oldest} to {newest};")


def test_releases_of_nvflare_each_with_every_environment():
    releases = list(load_rules().nvflare.releases)
    assert ROWS["NVFlare"] == ", ".join(releases)
    environment = {
        (name, release): list_builds(name, release) for name in list_environments() for release in releases
    }
    assert [place for place, found in environment.items() if not found] == []
