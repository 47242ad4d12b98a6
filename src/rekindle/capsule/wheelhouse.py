# SPDX-License-Identifier: Apache-2.0
"""``rekindle bundle``: collects the locked wheels of one or more plans, for hosts without a network.

    wheelhouse/<first 12 digits of the lock's SHA-256>/*.whl
    wheelhouse/<the same of its own>/cpython-*.tar.gz, where the controller brings a host its Python

Files that two locks share are hard links. Intact files are not fetched again.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from math import ceil
from pathlib import Path
from typing import NamedTuple

from rekindle.environments.lockfile import Pin, digest_folder, list_digests, read_pins
from rekindle.gpus.models import parse_version
from rekindle.host import folders
from rekindle.locks import list_platforms
from rekindle.records import HostRecord, PlanRecord, RecordError, read_record
from rekindle.records.complaint import BundleError
from rekindle.records.layout import host_in

from . import python
from .specs import make_specs

_AT_ONCE = 4
_ARCHIVES = (".whl", ".tar.gz", ".zip")
_TOGETHER = 10
"""Files that one pip fetches; the start of each takes longer than most files do."""


class Target(NamedTuple):
    """A lock, and the platform that its wheels have to run on."""

    lock: str
    text: str
    sha256: str
    python: str
    architecture: str
    glibc: str


@dataclass(frozen=True)
class LockBundle:
    """What the wheelhouse has for one lock."""

    lock: str
    folder: str
    files: int
    fetched: int
    """Files that were not there before."""


def bundle_wheels(plans: list[Path], wheelhouse: Path) -> list[LockBundle]:
    """Fill ``wheelhouse`` for each plan.json, whose host.json lies beside it; prints its progress.

    Raises:
        RecordError: a plan or its host record is missing or broken.
        BundleError: pip could not fetch a file; what was fetched stays.
    """
    targets = dict.fromkeys(target for plan in plans for target in _targets(plan))
    wheelhouse.mkdir(parents=True, exist_ok=True)
    wanted = (python.list_archives(read_record(plan, PlanRecord), host_in(plan.parent)) for plan in plans)
    for brought in {found.sha256: found for of_plan in wanted for found in of_plan}.values():
        print(f"Python {brought.version}: {python.bundle_python(brought, wheelhouse)}", flush=True)
    return [_fill(wheelhouse, target) for target in targets]


def require_files(
    home: Path, plan: PlanRecord, host: HostRecord, wheelhouse: Path, capsule: Path | None
) -> None:
    """Require that a wheelhouse has as many files of each lock of a host's plan as it pins.

    This only counts; missing and altered wheels are named when the wheels are sent.

    Args:
        home: folder of the host's plan.json.
        plan: its content.
        host: what preflight found.
        wheelhouse: what `bundle_wheels` filled.
        capsule: folder of the env.json that is rebuilt, if one is.

    Raises:
        RecordError: it has fewer, or a lock is not as planned.
    """
    for spec in make_specs(plan, host, *([capsule] if capsule else []), home):
        wanted = len(read_pins(spec["lock_text"], host.os.architecture))
        have = len(list((wheelhouse / spec["lock_sha256"][:12]).glob("*")))
        if have < wanted:
            raise RecordError(
                f"rekindle_wheelhouse is {str(wheelhouse)!r}, which has {have} of the {wanted} files of "
                f"{spec['lock']}.",
                shlex.join(["rekindle", "bundle", f"{home / folders.PLAN_RECORD}", "-o", f"{wheelhouse}"]),
            )


def _targets(path: Path) -> list[Target]:
    plan, host = read_record(path, PlanRecord), host_in(path.parent)
    versions = {python.path: python.version for python in host.pythons}
    try:
        specs = make_specs(plan, host, path.parent)
    except RecordError as error:
        raise RecordError(f"{path}: {error.message}", error.fix) from None
    return [
        Target(
            spec["lock"],
            spec["lock_text"],
            spec["lock_sha256"],
            versions[spec["python"]].rpartition(".")[0],
            host.os.architecture,
            host.os.glibc or "2.17",
        )
        for spec in specs
    ]


def _fill(wheelhouse: Path, target: Target) -> LockBundle:
    folder = wheelhouse / target.sha256[:12]
    if folder.is_symlink():
        raise RecordError(f"{folder} is a link.", "remove it: packages lie in the wheelhouse itself.")
    folder.mkdir(exist_ok=True)
    wanted = read_pins(target.text, target.architecture)
    present = digest_folder(folder)
    locked = list_digests(wanted)
    for digest, path in present.items():
        if digest not in locked and path.name.endswith(_ARCHIVES):
            path.unlink()
    for sibling in wheelhouse.iterdir():
        if sibling != folder and sibling.is_dir() and not sibling.is_symlink():
            for digest, path in digest_folder(sibling).items() if not locked <= present.keys() else ():
                if digest in locked and digest not in present:
                    os.link(path, folder / path.name)
                    present[digest] = folder / path.name
    missing = [pin for pin in wanted if not pin.digests & present.keys()]
    print(f"{target.lock}: {len(wanted) - len(missing)} of {len(wanted)} files are there", flush=True)
    count = ceil(len(missing) / _TOGETHER)
    groups = [missing[first::count] for first in range(count)]  # big neighbours, as NVIDIA's are, come apart
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        fetched = chain.from_iterable(pool.map(lambda group: fetch_pins(group, folder, target), groups))
        for number, path in enumerate(fetched, 1):
            print(f"  {number}/{len(missing)} {path.name} {path.stat().st_size / 1e6:.1f} MB", flush=True)
    return LockBundle(target.lock, str(folder), len(wanted), len(missing))


def fetch_pins(pins: Sequence[Pin], folder: Path, target: Target) -> list[Path]:
    """Fetch the files of pins into ``folder`` by one pip, by the machine's indexes; return them.

    Raises:
        BundleError: pip could not fetch the file of one; those of the pins before it are there.
    """
    platforms = list_platforms(target.architecture, parse_version(target.glibc))
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as aside:
        requirements = Path(aside, "requirements.txt")
        requirements.write_text("".join(f"{pin.requirement}\n" for pin in pins), encoding="utf-8")
        lock = Path(aside, target.lock)
        lock.write_text(target.text, encoding="utf-8")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"),
                *(f"--python-version={target.python}", "--implementation=cp"),
                *(f"--platform={name}" for name in platforms),
                *(f"--dest={aside}/files", f"--requirement={requirements}"),
                f"--build-constraint={lock}",  # build dependencies come from the lock as well
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return [path.rename(folder / path.name) for path in sorted(Path(aside, "files").iterdir())]
    if len(pins) > 1:
        return [path for pin in pins for path in fetch_pins([pin], folder, target)]
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    raise BundleError(
        f"{pins[0].name} {pins[0].version} of {target.lock} could not be fetched: "
        f"{errors[0] if errors else done.stderr.strip()}",
        "check this machine's network and pip's indexes, then run the same command again.",
    )
