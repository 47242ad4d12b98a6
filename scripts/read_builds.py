# SPDX-License-Identifier: Apache-2.0
"""Read the facts of the builds again, and write them to the catalogue.

    uv must be on PATH; python -m rekindle.environments.indexes runs this with pip's indexes
    read_builds.py [--check] [WHEEL…]

From the package index, for each build: its Pythons, the glibc of its wheels, the CUDA runtime
and NCCL that its metadata brings, and the newest Lightning and Transformers for it. From each WHEEL on disk
(they are large: nothing is downloaded): the CUDA that it was compiled with and its architectures, for
TensorFlow by library. --check writes nothing and exits with 1 if the catalogue differs.
"""

import argparse
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packaging.utils import parse_wheel_filename
from read_wheel import read_wheel
from resolve import NoSolution, Package, linux_tags, resolve

from rekindle.records import dump_builtins
from rekindle.solver.catalogue import load_rules

CATALOGUE = Path(__file__).parents[1] / "src/rekindle/solver/catalogue"
_RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu\d+)?$")
_NCCL = re.compile(r"nvidia-nccl-cu\d+$")


def from_index(build: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that the package index has on a build.

    Raises:
        SystemExit: no Python that we lock can have it.
    """
    facts: dict[str, Any] = {"pythons": []}
    for python in load_rules().locks.pythons:
        try:
            packages = _resolve(build["requirements"], python, build["architecture"])
        except NoSolution:
            continue
        facts["pythons"].append(python)
        own = next(package for package in packages if package.name == _distribution(build))
        oldest = _glibc(own, python, build["architecture"])
        facts["glibc"] = max(facts.get("glibc", "2.0"), oldest, key=_minor)
        for package in packages:
            if _RUNTIME.match(package.name):
                facts["cuda"] = ".".join(package.version.split(".")[:2])
            if _NCCL.match(package.name):
                facts["nccl"] = package.version
    if not facts["pythons"]:
        raise SystemExit(f"{build['requirements'][0]} is not in the index. Fix: drop it.")
    return facts


def from_wheel(path: Path, builds: list[dict[str, Any]]) -> None:
    """Write the facts of the wheel at ``path`` to its build.

    Raises:
        SystemExit: it cannot be read, or the catalogue has no such build.
    """
    try:
        report = read_wheel(path)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    name, version, _, tags = parse_wheel_filename(path.name)
    for build in builds:
        here = any(tag.platform.endswith(build["architecture"]) for tag in tags)
        same = (_distribution(build), build["version"]) == (name, version.public)
        if here and same and ("toolkit" in build) == bool(report.toolkit):
            build["wheel"] = path.name
            if report.toolkit:
                build.update(toolkit=report.toolkit, arch_list=list(report.arch_list))
            if report.kernels:
                build["kernels"] = [dump_builtins(kernels) for kernels in report.kernels]
            return
    raise SystemExit(f"The catalogue has no build of {path.name}. Fix: add its version first.")


def newest(data: dict[str, Any], pair: dict[str, Any], builds: list[dict[str, Any]]) -> str:
    """Return the newest version of a framework on torch that a torch build resolves to everywhere."""
    own = [text.partition("==")[0] for text in data["requirements"]]
    versions = {
        package.version
        for build in builds
        if (build["version"], build["variant"]) == (pair["torch"], pair["variant"])
        for python in build["pythons"]
        if python in pair.get("pythons", data["pythons"])
        for package in _resolve([*own, *build["requirements"]], python, build["architecture"])
        if package.name == data["framework"]
    }
    return min(versions, key=_minor)


def _resolve(requirements: list[str], python: str, architecture: str) -> list[Package]:
    find_links = any("+cpu" in requirement for requirement in requirements)
    return resolve(requirements, python, architecture, glibc=load_rules().locks.glibc, find_links=find_links)


def _distribution(build: dict[str, Any]) -> str:
    match = re.match(r"[\w-]+", build["requirements"][0])
    return match[0] if match else ""


def _glibc(package: Package, python: str, architecture: str) -> str:
    """Return the oldest glibc that a wheel of the package allows."""
    aliases = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}
    versions = []
    for tag in {tag for file in package.wheels for tag in parse_wheel_filename(file.name)[3]}:
        if tag in linux_tags(python, architecture):
            policy = tag.platform.removesuffix(f"_{architecture}")
            versions.append(aliases.get(policy) or policy.removeprefix("manylinux_").replace("_", "."))
    return min(versions, key=_minor)


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _text(data: dict[str, Any]) -> str:
    lists = re.compile(r'\[\s+((?:"[^"]*",?\s+)+)\]')
    one_line = lists.sub(lambda match: f"[{' '.join(match[1].split())}]", json.dumps(data, indent=2))
    return one_line + "\n"


def main() -> int:
    """Read everything and write or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("wheels", nargs="*", type=Path, metavar="WHEEL")
    args = parser.parse_args()
    names = ("torch", "tensorflow", "lightning", "transformers")
    before = {name: (CATALOGUE / f"{name}.json").read_text(encoding="utf-8") for name in names}
    data = {name: json.loads(text) for name, text in before.items()}
    builds = [*data["torch"]["builds"], *data["tensorflow"]["builds"]]
    with ThreadPoolExecutor(4) as pool:  # each waits for the index
        for build, facts in zip(builds, pool.map(from_index, builds), strict=True):
            build.update(facts)
        torch = data["torch"]["builds"]
        for framework in (data["lightning"], data["transformers"]):
            versions = pool.map(
                lambda pair, framework=framework: newest(framework, pair, torch), framework["builds"]
            )
            for pair, version in zip(framework["builds"], versions, strict=True):
                pair["version"] = version
    for path in args.wheels:
        from_wheel(path, builds)
    stale = [name for name in names if before[name] != _text(data[name])]
    for name in stale:
        print(f"{name}.json {'differs from the builds' if args.check else 'is rewritten'}")
        if not args.check:
            (CATALOGUE / f"{name}.json").write_text(_text(data[name]), encoding="utf-8")
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
