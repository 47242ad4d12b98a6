# SPDX-License-Identifier: Apache-2.0
"""Write the locks under src/rekindle/locks from the catalogue of builds.

    uv must be on PATH; python -m rekindle.environments.indexes runs this with pip's indexes
    make_locks.py [--upgrade] [NAME…]

A lock serves every architecture of its build: a pin that differs between them carries a marker. files.list
beside the locks has digest, size in bytes and name of each wheel of a pin that a glibc Linux can install, and
of the source only where there is no wheel; rekindle.locks joins both to what hosts get. Pins stay unless
--upgrade is given or the catalogue asks for others.
"""

import argparse
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from resolve import NoSolution, Package, resolve

from rekindle.locks import NEWER_PYTHONS, File, read_known_files, render_lock
from rekindle.solver.catalogue import (
    OF_ONE_TORCH,
    adapt_to_own_torch,
    list_builds,
    list_environments,
    load_rules,
)

REPOSITORY = Path(__file__).parents[1]
LOCKS = REPOSITORY / "src/rekindle/locks"
ARCHITECTURES = ("aarch64", "x86_64")
DRIVER = ("msgspec", "psutil", "nvidia-ml-py", "py-spy")


@dataclass
class Lock:
    """What one lock file is made from."""

    pythons: Sequence[str]
    """Versions are the first one's; digests are all of them's."""
    requirements: dict[str, Sequence[str]] = field(default_factory=dict)
    """By architecture."""
    without: Sequence[str] = ()
    """Packages to leave out although others require them."""


def locks() -> dict[str, Lock]:
    """Return every lock that there should be, by file name."""
    pythons = load_rules().locks.pythons
    wanted = {"driver.txt": Lock([pythons[0], *NEWER_PYTHONS], dict.fromkeys(ARCHITECTURES, DRIVER))}
    for release in load_rules().nvflare.releases:  # for the controller
        alone: dict[str, Sequence[str]] = {}
        alone |= dict.fromkeys(ARCHITECTURES, (f"nvflare=={release}", "setuptools"))
        wanted[f"nvflare-{release}.txt"] = Lock(NEWER_PYTHONS, alone)
    asked = itertools.product(list_environments(), load_rules().nvflare.releases)
    for build in (build for framework, release in asked for build in list_builds(framework, release)):
        for python in build.pythons:
            lock = wanted.setdefault(build.lock(python), Lock([python]))
            lock.requirements[build.architecture] = (*common(build.nvflare), *build.requirements)
            if build.lent:
                rest = adapt_to_own_torch(build)
                lock = wanted.setdefault(rest.lock(python), Lock([python], without=OF_ONE_TORCH))
                asked_for = (*common(build.nvflare), *rest.requirements)
                lock.requirements.setdefault(build.architecture, asked_for)  # the newest build's
    return wanted


def common(release: str) -> Sequence[str]:
    """Return what every environment with a release of NVFlare has.

    setuptools: pyhocon, which NVFlare needs, comes as source only, and an offline host has to build it.
    """
    return (f"nvflare=={release}", "scikit-learn", "setuptools")


def pins(text: str, architecture: str) -> dict[str, str]:
    """Return the versions that a lock pins for ``architecture``."""
    lines = re.findall(r"^([\w.-]+)==(\S+)(?: ; platform_machine == '(\w+)')?", text, re.MULTILINE)
    return {name: version for name, version, machine in lines if machine in {"", architecture}}


def pinned(lock: Lock, resolved: Mapping[str, Iterable[Package]]) -> str:
    """Return the pins of a lock from what each architecture resolved to.

    Raises:
        SystemExit: its Pythons need different versions.
    """
    machines: dict[tuple[str, str], set[str]] = {}
    for architecture, packages in resolved.items():
        for package in packages:
            machines.setdefault((package.name, package.version), set()).add(architecture)
    for (name, version), (other_name, other_version) in itertools.combinations(machines, 2):
        if name == other_name and machines[name, version] & machines[other_name, other_version]:
            raise SystemExit(
                f"{name} is {version} for one Python and {other_version} for another. Fix: a lock for each."
            )
    versions = f"{lock.pythons[0]} and newer" if len(lock.pythons) > 1 else lock.pythons[0]
    platforms, glibc = " and ".join(sorted(resolved)), load_rules().locks.glibc
    where = f"Python {versions} on Linux {platforms}, glibc {glibc} or newer"
    lines = [f"# Written by scripts/make_locks.py for {where}."]
    for (name, version), of in sorted(machines.items()):
        marker = "" if of == set(resolved) else f" ; platform_machine == '{min(of)}'"
        lines.append(f"{name}=={version}{marker}")
    return "\n".join(lines) + "\n"


def write(name: str, lock: Lock, upgrade: bool) -> set[File]:
    """Write the lock ``name`` and return its files.

    Raises:
        SystemExit: no versions satisfy what it asks for.
    """
    path, glibc = LOCKS / name, load_rules().locks.glibc
    extended = LOCKS / re.sub(r"\+[a-z]+|-nvflare[\d.]+(?=-)", "", name)  # its own, unless it extends one
    kept = next((candidate for candidate in (path, extended) if candidate.exists()), None)
    before = kept.read_text(encoding="utf-8") if kept and not upgrade else ""
    resolved: dict[str, list[Package]] = {}
    for architecture, requirements in lock.requirements.items():
        known = pins(before, architecture)
        find_links = any("+cpu" in requirement for requirement in requirements)
        for python in lock.pythons:
            try:
                packages = resolve(
                    requirements,
                    python,
                    architecture,
                    glibc=glibc,
                    known=known,
                    find_links=find_links,
                    without=lock.without,
                )
            except NoSolution as error:
                raise SystemExit(f"{name}: {error}") from None
            resolved.setdefault(architecture, []).extend(packages)
    path.write_text(pinned(lock, resolved), encoding="utf-8")
    print(name, flush=True)
    every = itertools.chain.from_iterable(resolved.values())
    return {file for package in every for file in package.wheels or package.sdist}


def keep_files(new: Iterable[File], known: Iterable[File]) -> None:
    """Add ``new`` files to those that are ``known``, and drop those that are in no lock any more."""
    files = tuple({file.name: file for file in (*known, *new)}.values())
    locked = "".join(render_lock(path.read_text(encoding="utf-8"), files) for path in LOCKS.glob("*.txt"))
    digests = set(re.findall(r"sha256:(\w+)", locked))
    kept = sorted((file for file in files if file.sha256 in digests), key=lambda file: file.name)
    listed = "".join(f"{file.sha256} {file.size} {file.name}\n" for file in kept)
    (LOCKS / "files.list").write_text(listed, encoding="utf-8")


def main() -> None:
    """Write the locks that the command line names, or all of them, and remove those that are not wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--upgrade", action="store_true", help="forget the pins that are there")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    wanted = locks()
    unknown = sorted(set(args.names) - set(wanted))
    if unknown:
        parser.error(f"{unknown[0]} is not a lock of the catalogue")
    new: set[File] = set()
    with ThreadPoolExecutor(4) as pool:  # each waits for the index
        for files in pool.map(lambda name: write(name, wanted[name], args.upgrade), args.names or wanted):
            new |= files
    if not args.names:
        for path in LOCKS.glob("*.txt"):
            if path.name not in wanted:
                path.unlink()
    keep_files(new, read_known_files())


if __name__ == "__main__":
    main()
