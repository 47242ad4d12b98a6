"""``python -m rekindle.environments start|build ROOT``, on the host.

``start`` reads a JSON list of specifications (see ``build.build``) from standard input and leaves a process
behind, detached from this session, that builds them and tells its progress in logs/environments/. Called
while that one runs it starts none: who asks for the same follows the one that is there.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from rekindle.host import detached, folders
from rekindle.host.caches import keep_below

from .build import BuildError, build
from .progress import Teller


def start(root: Path, specs: str) -> None:
    """Leave a process behind that builds ``specs``, unless one is at it."""
    for folder in (*folders.OURS, folders.BUILDS):
        (root / folder).mkdir(parents=True, exist_ok=True)
    logs = root / folders.BUILDS
    with detached.locked(root / folders.BUILD_LOCK) as lock:
        if lock is None:
            if (logs / "specs.json").read_text(encoding="utf-8") == specs:
                return
            raise BuildError(
                f"Another run builds other environments under {root}. Fix: run again when it has ended."
            )
        (logs / "specs.json").write_text(specs, encoding="utf-8")
        (logs / folders.PROGRESS).unlink(missing_ok=True)
        detached.start(["rekindle.environments", "build", str(root)], lock, logs / "log.txt")


def build_all(root: Path) -> None:
    """Build what ``start`` wrote down, one after the other."""
    _clear(root)
    logs = root / folders.BUILDS
    specs = json.loads((logs / "specs.json").read_text(encoding="utf-8"))
    with Teller(logs / folders.PROGRESS, root / folders.UV_CACHE) as teller:
        built = []
        for spec in specs:
            teller.begin(spec["name"])
            built.append(build(root, spec, teller.take))
        environments = [environment for environment, _ in built]
        teller.end(any(changed for _, changed in built), {"environments": environments})


def _clear(root: Path) -> None:
    """Remove what a builder that was killed, or its uv, had not finished."""
    for path in (*root.glob(f"{folders.ENVS}/.*.building*"), *root.glob(f"{folders.UV_CACHE}/.tmp*")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def main() -> int:
    """Run the verb that the command line names."""
    os.umask(0o077)
    verb, root = sys.argv[1], Path(sys.argv[2])
    try:
        if verb == "start":
            start(root, sys.stdin.read())
        else:
            keep_below(root / folders.CACHE)
            build_all(root)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
