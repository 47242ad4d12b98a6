# SPDX-License-Identifier: Apache-2.0
"""What differs between the environments of two env.json."""

from collections.abc import Iterator
from typing import Any

from rekindle.records import Environment, EnvRecord


def differences(first: EnvRecord, second: EnvRecord) -> Iterator[str]:
    """Yield the differences, environment by environment; time and place of the build do not count."""
    left = {environment.framework: environment for environment in first.environments}
    right = {environment.framework: environment for environment in second.environments}
    for name in sorted(left.keys() | right.keys()):
        if name not in left or name not in right:
            yield f"{name}: only in the {'first' if name in left else 'second'}"
            continue
        old, new = _facts(left[name]), _facts(right[name])
        for label in sorted(old.keys() | new.keys()):
            if old.get(label) != new.get(label):
                yield f"{name}: {label}: {old.get(label, 'absent')} → {new.get(label, 'absent')}"


def _facts(environment: Environment) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "lock": environment.lock,
        "lock sha256": environment.lock_sha256[:12],
        "python": environment.python_version,
    }
    facts |= {f"package {name}": version for name, version in environment.packages.items()}
    facts |= {f"lent by the host: {name}": version for name, version in environment.system_site.items()}
    build, gpus = environment.probe.get("build"), environment.probe.get("gpus")
    facts |= {f"build {name}": value for name, value in build.items()} if isinstance(build, dict) else {}
    if isinstance(gpus, list):
        gpus = [gpu.get("name") if isinstance(gpu, dict) else gpu for gpu in gpus]
    facts["GPUs"] = gpus
    facts["collective"] = environment.probe.get("collective")
    return facts
