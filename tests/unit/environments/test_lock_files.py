# SPDX-License-Identifier: Apache-2.0
"""Every pin of every lock has a file for every Python and platform that the lock is for.

`make locks` writes the files' names: NAME.sha256 under requirements/ and, with sizes, files.list beside the
hosts' locks, which are joined from both here.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import tomllib
from packaging.markers import Marker
from packaging.tags import compatible_tags, cpython_tags, mac_platforms
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

from rekindle import locks

REPOSITORY = Path(__file__).parents[3]
REQUIREMENTS = REPOSITORY / "requirements"
HEADER = re.compile(r"for Python (\S+)( and newer)? on Linux (.+), glibc (\S+) or newer")
NEWER = ("3.11", "3.12", "3.13", "3.14")
PURE_SOURCE = {"autograd-gamma", "pyhocon"}
"""Pure Python of which the index has the source alone."""


@dataclass(frozen=True)
class Target:
    """A CPython on a platform."""

    python: str
    system: str
    machine: str
    glibc: int = 28

    @property
    def tags(self):
        """Return the tags of the wheels that can be installed there."""
        if self.system == "darwin":
            platforms = list(mac_platforms((11, 0), self.machine))
        else:
            names = [f"manylinux_2_{minor}" for minor in range(self.glibc, 4, -1)]
            names += ["manylinux2014", "manylinux2010", "manylinux1", "linux"]
            platforms = [f"{name}_{self.machine}" for name in names]
        version = tuple(int(part) for part in self.python.split("."))
        interpreter = "cp" + self.python.replace(".", "")
        return frozenset(
            [
                *cpython_tags(version, platforms=platforms),
                *compatible_tags(version, interpreter=interpreter, platforms=platforms),
            ]
        )

    @property
    def markers(self):
        """Return what the markers of a lock ask for."""
        return {
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "sys_platform": self.system,
            "platform_system": self.system.capitalize(),
            "platform_machine": self.machine,
            "os_name": "posix",
        }


CONTROLLERS = [
    Target(python, system, machine)
    for python in ("3.11", "3.12", "3.13")
    for system, machine in (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"))
]


def file_names(name):
    """Return the names of files by digest."""
    lines = (REQUIREMENTS / f"{name}.sha256").read_text(encoding="utf-8").splitlines()
    return dict(tuple(line.split("  ")) for line in lines)


def pins(lock):
    """Return name, version, marker and digests of each pin."""
    for found in re.finditer(
        r"^([\w.-]+)==(\S+)(?: ; ([^\\\n]+?))? \\\n((?:    --hash=\S+(?: \\)?\n)+)", lock, re.M
    ):
        yield found[1], found[2], found[3] or "", set(re.findall(r"sha256:(\w{64})\b", found[4]))


def lacking(lock, names, targets):
    """Return a line for each pin that has no file for one of the targets."""
    pinned = list(pins(lock))
    lines = [
        f"{name}: {digest} is no file of the index" for name, *_, of in pinned for digest in of - names.keys()
    ]
    assert len(pinned) == len(re.findall(r"==", re.sub(r"(?m);.*", "", lock)))
    for target in targets:
        tags = target.tags
        for name, version, marker, digests in pinned:
            if marker and not Marker(marker).evaluate({**target.markers, "extra": ""}):
                continue
            files = [names[digest] for digest in digests & names.keys()]
            wheels = [parse_wheel_filename(file) for file in files if file.endswith(".whl")]
            sources = [parse_sdist_filename(file) for file in files if not file.endswith(".whl")]
            assert {(parsed[0], str(parsed[1])) for parsed in [*wheels, *sources]} == {
                (canonicalize_name(name), version)
            }
            if not any(wheel[3] & tags for wheel in wheels) and not (sources and name in PURE_SOURCE):
                lines.append(
                    f"{name} {version}: none for {target.python} on {target.system} {target.machine}"
                )
    return lines


@pytest.mark.parametrize("name", ["controller", "docs", "uv"])
def test_a_controller_finds_a_file_for_every_pin(name):
    lock = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8")
    assert lacking(lock, file_names(name), CONTROLLERS) == []


@pytest.mark.parametrize("name", ["docs", "uv"])
def test_what_is_installed_beside_the_controllers_packages_replaces_none(name):
    versions = {
        lock: {package: version for package, version, *_ in pins((REQUIREMENTS / f"{lock}.txt").read_text())}
        for lock in ("controller", name)
    }
    shared = versions["controller"].keys() & versions[name].keys()
    assert shared
    assert {pin for pin in shared if versions["controller"][pin] != versions[name][pin]} == set()


def test_what_the_package_needs_is_locked():
    lock = (REQUIREMENTS / "controller.txt").read_text(encoding="utf-8")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = set(project["dependencies"])
    assert "ansible-core" in named
    assert named <= {name for name, *_ in pins(lock)}


def claims(lock):
    """Return what a host's lock is for, by its header."""
    (found,) = HEADER.findall(lock.splitlines()[0])
    python, newer, machines, glibc = found
    pythons = [python, *(NEWER if newer else ())]
    return [
        Target(python, "linux", machine, int(glibc.split(".")[1]))
        for python in pythons
        for machine in machines.split(" and ")
    ]


@pytest.mark.parametrize("name", sorted(locks.list_locks()))
def test_a_host_finds_a_file_for_every_pin(name):
    lock = locks.read_lock(name)
    names = {file.sha256: file.name for file in locks.read_known_files()}
    assert lacking(lock, names, claims(lock)) == []


def test_every_file_that_a_lock_names_has_a_size_and_no_other():
    locked = {
        digest
        for name in locks.list_locks()
        for *_, digests in pins(locks.read_lock(name))
        for digest in digests
    }
    files = locks.read_known_files()
    assert locked == {file.sha256 for file in files if file.size > 0}
    assert len(locked) == len(files)
