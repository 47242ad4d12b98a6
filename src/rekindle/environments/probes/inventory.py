# SPDX-License-Identifier: Apache-2.0
"""What is installed: the environment's own distributions, and those of the host's Python."""

import json
import platform
import sys
from importlib.metadata import distributions
from pathlib import Path


def main() -> None:
    """Print versions by name."""
    home = Path(sys.prefix).resolve()
    own: dict[str, str] = {}
    lent: dict[str, str] = {}
    for distribution in distributions():
        name = distribution.metadata["Name"].lower().replace("_", "-")
        inside = Path(str(distribution.locate_file(""))).resolve().is_relative_to(home)
        (own if inside else lent).setdefault(name, distribution.version)
    borrowed = {name: version for name, version in lent.items() if name not in own}
    print(json.dumps({"python_version": platform.python_version(), "packages": own, "system_site": borrowed}))


if __name__ == "__main__":
    main()
