# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.environments start|build|standing ROOT``, on the host.

``start`` reads a JSON list of specifications (see ``build.build``) from standard input and leaves a process
behind, detached from this session, that builds them and records its progress in logs/environments/: here, or
with ``start ROOT ASKED``, an Allocation in JSON, on a node of a cluster. While one runs, a second call
with the same specifications starts nothing, and its caller follows the first.

``standing`` reads them too, and prints the records of all environments, or none if one is to be built.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from rekindle.host import background, folders, queues, storage
from rekindle.host.caches import redirect_caches

from .build import BuildError, build_environment, find_built
from .progress import BuildReporter


def start_builder(root: Path, specs: str, asked: dict[str, Any] | None = None) -> None:
    """Leave a process behind that builds ``specs``, unless one does; on a node, if one is ``asked`` for."""
    for folder in (*folders.OURS, folders.BUILDS):
        (root / folder).mkdir(parents=True, exist_ok=True)
    logs = root / folders.BUILDS
    with background.hold_lock(root / folders.BUILD_LOCK) as lock:
        if lock is None or queues.is_queued(logs):
            if (logs / "specs.json").read_text(encoding="utf-8") == specs:
                return
            raise BuildError(
                f"Another run builds other environments under {root}. Fix: run again when it has ended."
            )
        (logs / "specs.json").write_text(specs, encoding="utf-8")
        for left in (folders.PROGRESS, queues.JOB):
            (logs / left).unlink(missing_ok=True)
        command = ["rekindle.environments", "build", str(root)]
        if asked:
            python = json.loads(specs)[0]["python"]
            queues.submit_job(logs, [python, "-m", *command], {**asked, "nodes": 1}, os.environ)
        else:
            background.start_module(command, lock, logs / "log.txt")


def build_environments(root: Path) -> None:
    """Build what ``start`` recorded, one after the other."""
    for path in (*root.glob(f"{folders.ENVS}/.*.building*"), *root.glob(f"{folders.UV_CACHE}/.tmp*")):
        storage.remove_path(path)  # left by a killed builder or its uv
    logs = root / folders.BUILDS
    specs = json.loads((logs / "specs.json").read_text(encoding="utf-8"))
    redirect_caches(root / folders.CACHE)
    with BuildReporter(logs / folders.PROGRESS, root / folders.UV_CACHE) as reporter:
        built = []
        for spec in specs:
            reporter.begin(spec["name"])
            built.append(build_environment(root, spec, reporter.take))
        environments = [environment for environment, _ in built]
        reporter.end(any(changed for _, changed in built), {"environments": environments})


def main() -> int:
    """Run the verb that the command line names."""
    os.umask(0o077)
    verb, root = sys.argv[1], Path(sys.argv[2])
    try:
        if verb == "start":
            start_builder(root, sys.stdin.read(), json.loads(sys.argv[3]) if sys.argv[3:] else None)
        elif verb == "standing":
            print(json.dumps({"environments": find_built(root, json.load(sys.stdin))}))
        else:
            build_environments(root)
    except (BuildError, queues.QueueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
