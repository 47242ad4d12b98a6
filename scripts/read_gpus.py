# SPDX-License-Identifier: Apache-2.0
"""Write which GPU a PCI device id is, and the first driver that knows it, to src/rekindle/gpus/devices.json.

    read_gpus.py OPEN_GPU_KERNEL_MODULES PCIIDS

Both are clones: NVIDIA/open-gpu-kernel-modules, whose README has a table of GPUs in each release, and
pciutils/pciids, for GPUs older than Turing, which that table lacks. Laptops and built-in boards are left out.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from rekindle.gpus.models import find_model_capability, parse_version

DATA = Path(__file__).parents[1] / "src/rekindle/gpus/devices.json"
_ROW = re.compile(
    r"^\| ((?:NVIDIA|Quadro|Tesla|TITAN)[^|]*?) *\| ([0-9A-F]{4})((?: [0-9A-F]{4})*) *\|", re.MULTILINE
)
_OLD = re.compile(
    r"^\t([0-9a-f]{4})  (?:GK210\w*|GM20\w*|GP10\w*|GV100\w*) \[((?:Tesla|GeForce|Quadro|TITAN)[^\]]*)\]",
    re.MULTILINE,
)
_BUILT_IN = re.compile(
    r"Laptop|Mobile|Embedded|with Max-Q|\bMX\d|MAXQ|CMP|DRIVE|GTX 750 v2|OEM|FAKE|Engineering|Reserved"
)
_BETA = re.compile(
    r"515\.49|525\.47|535\.43\.[01][3-9]|535\.43\.[12]|535\.43\.0[89]|550\.40\.[5-9]|570\.123|580\.94"
)
"""Vulkan developer drivers, which know a GPU before later releases of the same branch do."""
_SEEN = {"2E12": "580.95.05"}
"""DGX Spark, shipped with a driver whose table lacks it."""


def _git(folder: str, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=False)
    return done.stdout


def since(kernel_modules: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the name of each device id, and the oldest release whose table has it."""
    names: dict[str, Counter[str]] = {}
    first: dict[str, str] = {}
    releases = (tag for tag in _git(kernel_modules, "tag").split() if not _BETA.match(tag))
    for release in sorted(releases, key=parse_version):
        for name, device, subsystem in _ROW.findall(_git(kernel_modules, "show", f"{release}:README.md")):
            first.setdefault(device, release)
            rows = names.setdefault(device, Counter())
            rows[name] += 1 if subsystem else 1_000  # the name of any board, rather than of one
    first |= _SEEN
    return {device: rows.most_common(1)[0][0] for device, rows in names.items()}, first


def main() -> None:
    """Write the file."""
    kernel_modules, pciids = sys.argv[1:]
    names, first = since(kernel_modules)
    nvidia = _git(pciids, "show", "HEAD:pci.ids").partition("\n10de  ")[2].partition("\n10df")[0]
    names |= {device.upper(): name for device, name in _OLD.findall(nvidia)}
    kept = {
        device: name
        for device, name in sorted(names.items())
        if not _BUILT_IN.search(name) and find_model_capability(name)
    }
    oldest = min(first.values(), key=parse_version)
    drivers: dict[str, list[str]] = {}
    for device in kept:
        if first.get(device, oldest) != oldest:
            drivers.setdefault(first[device], []).append(device)
    data = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {"sources": {}}
    data |= {
        "drivers": dict(sorted(drivers.items(), key=lambda pair: parse_version(pair[0]))),
        "devices": kept,
    }
    lists = re.compile(r"\[\s+((?:\"[^\"]*\",?\s+)+)\]")
    text = lists.sub(lambda match: f"[{' '.join(match[1].split())}]", json.dumps(data, indent=2))
    DATA.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
