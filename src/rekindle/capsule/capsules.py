# SPDX-License-Identifier: Apache-2.0
"""The environment capsule: env.json and the locks beside it rebuild the same environments on the next lease.

results/<run>/<host>/env.json
results/<run>/<host>/locks/<lock>
"""

import hashlib
import re
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rekindle import locks, records
from rekindle.environments import Specification
from rekindle.host import files, folders
from rekindle.records import Environment, EnvRecord, HostRecord, PlannedEnvironment, PlanRecord, RecordError
from rekindle.records.layout import env_in
from rekindle.results import state

_DRIVER = "driver"
_LINE = re.compile(
    r"(#.*|[\w.-]+==[\w.+!]+( ; platform_machine == '\w+')? \\|    --hash=sha256:[0-9a-f]{64}( \\)?)?",
    re.ASCII,
)


def find_lock(name: str, sha256: str, *places: Path) -> str:
    """Return the lock ``name`` with that digest, from locks/ in one of the ``places`` or from our own locks.

    Raises:
        RecordError: none has it, or it has more than pins and their digests.
    """
    for kept in (place / folders.LOCKS / name for place in places):
        content = files.read_content(kept) if kept.is_file() else b""
        if hashlib.sha256(content).hexdigest() == sha256:
            return _pins_alone(name, content)
    if locks.digest_lock(name) == sha256:
        return locks.read_lock(name)
    where = " or ".join([*(f"{place}/locks" for place in places), "rekindle/locks"])
    raise RecordError(f"No lock {name} with digest {sha256[:12]} is in {where}.", "run the plan stage again.")


def receive_environments(environments: list[Any], host: str, folder: Path, sent: list[Specification]) -> None:
    """Write env.json and its locks into the ``folder`` of a host's records, as `save_environments` does.

    Args:
        environments: as the host reported them.
        host: its name.
        folder: results/<run>/<host>.
        sent: the specifications that the host was given.

    Raises:
        Complaint: they do not fit the schema, or are not of the locks that were sent.
    """
    try:
        env = records.convert_builtins({"host": host, "environments": environments}, EnvRecord)
        locks = sorted((spec["name"], spec["lock"], spec["lock_sha256"]) for spec in sent)
        if sorted((one.framework, one.lock, one.lock_sha256) for one in env.environments) != locks:
            raise RecordError("its locks are not those that were sent")
        save_environments(env, folder)
    except RecordError as error:
        message = f"What came from the host is not a valid EnvRecord: {error.message.rstrip('.')}."
        raise records.Complaint(message, "run the stage again.") from None


def save_environments(env: EnvRecord, folder: Path) -> None:
    """Write env.json and its locks into ``folder``.

    Raises:
        RecordError: one of them was not sent from here.
    """
    texts = {built.lock: _sent_lock_text(built.lock, built.lock_sha256) for built in env.environments}
    for name, text in texts.items():
        write_lock(folder, name, text)
    records.write_record(folder / folders.ENV_RECORD, env)


def write_lock(folder: Path, name: str, text: str) -> None:
    """Write a lock beside the records in ``folder``."""
    (folder / folders.LOCKS).mkdir(parents=True, exist_ok=True)
    (folder / folders.LOCKS / name).write_text(text, encoding="utf-8")


def _sent_lock_text(name: str, sha256: str) -> str:
    """Return the lock ``name`` with that digest, from those that were sent from here and our own."""
    text = state.find_sent_lock(sha256)
    try:
        return text or find_lock(name, sha256)
    except RecordError:  # the host may have invented it
        raise RecordError(
            f"The lock {name} with digest {sha256[:12]} was never sent from here, and no capsule has it.",
            "run playbooks/environments.yml on that host from here, then this again.",
        ) from None


def list_frameworks(capsule: Path) -> dict[str, str]:
    """Return the version of each framework in the capsule.

    Raises:
        RecordError: ``capsule`` has no env.json.
    """
    return {environment.framework: _version(environment) for environment in _environments(capsule)}


def require_locks(capsule: Path) -> None:
    """Require that a capsule has all of its locks.

    Raises:
        RecordError: ``capsule`` has no env.json, or lacks a lock that it names.
    """
    for environment in _environments(capsule):
        find_lock(environment.lock, environment.lock_sha256, capsule)


def apply_capsule(plan: PlanRecord, host: HostRecord, capsule: Path) -> PlanRecord:
    """Return ``plan`` with the capsule's locks and Pythons, or refusals where this host cannot have them.

    Raises:
        RecordError: ``capsule`` has no env.json.
    """
    wanted = {environment.framework: environment for environment in _environments(capsule)}
    environments = tuple(
        _applied(planned, planned.build, wanted[planned.framework], host)
        if planned.build and planned.framework in wanted
        else planned
        for planned in plan.environments
    )
    return replace(plan, environments=environments)


def _pins_alone(name: str, content: bytes) -> str:
    """Return the text of a lock without lines that redirect pip or uv, such as options and URLs."""
    text = content.decode(errors="replace")
    if strange := [line for line in text.splitlines() if not _LINE.fullmatch(line)]:
        raise RecordError(
            f"{name} has the line {strange[0][:200]!r}, and a lock has pins and their digests alone.",
            "take a capsule that nobody has altered.",
        )
    return text


def _applied(
    planned: PlannedEnvironment, build: records.Build, wanted: Environment, host: HostRecord
) -> PlannedEnvironment:
    def stem(lock: str) -> str:
        return lock.rpartition("-")[0]

    minor = wanted.python_version.rpartition(".")[0]
    pythons = [python for python in host.pythons if python.version.rpartition(".")[0] == minor]
    what = f"Python {minor}"
    if build.system_site:
        torch = wanted.system_site.get("torch")
        pythons = [python for python in pythons if (python.path, python.torch) == (build.python, torch)]
        what += f" that lends torch {torch}"
    if stem(build.lock) != stem(wanted.lock) or not pythons:
        fits = f"this host takes {build.lock}" if pythons else f"this host has no {what}"
        refusal = (
            f"The capsule's {wanted.lock} cannot be rebuilt here: {fits}. "
            "Fix: leave rekindle_capsule out, or lease a host like the first."
        )
        return replace(planned, build=None, refusal=refusal)
    exact = max(pythons, key=lambda python: python.version == wanted.python_version)
    chosen = build.python if build.python_version == exact.version else exact.path
    build = replace(
        build, lock=wanted.lock, lock_sha256=wanted.lock_sha256, python=chosen, python_version=exact.version
    )
    return replace(planned, build=build)


def _environments(capsule: Path) -> list[Environment]:
    env = env_in(capsule)
    return [environment for environment in env.environments if environment.framework != _DRIVER]


def _version(environment: Environment) -> str:
    framework, version, *_ = f"{environment.lock}-".split("-")
    installed = {**environment.system_site, **environment.packages}
    return installed.get(framework.partition("+")[0], version) if version == "system" else version
