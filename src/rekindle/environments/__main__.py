"""``python -m rekindle.environments ROOT``, on the host: builds what standard input asks for.

Reads a JSON list of specifications (see ``build``), answers ``{"changed": bool, "environments": [...]}``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from .build import BuildError, build


def main() -> int:
    """Build every environment; 1 with one sentence on standard error if one cannot be built."""
    os.umask(0o077)
    root = Path(sys.argv[1])
    for folder in ("envs", "jobs", "runs", "tmp", "cache", "logs"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    try:
        built = [build(root, spec) for spec in json.load(sys.stdin)]
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    environments = [environment for environment, _ in built]
    print(json.dumps({"changed": any(changed for _, changed in built), "environments": environments}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
