"""What a built environment says of itself; run by the environment's own interpreter, prints JSON."""

from __future__ import annotations

import json
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any


def _torch() -> dict[str, Any]:
    import torch  # noqa: PLC0415 - there only in an environment with torch

    report = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "arch_list": torch.cuda.get_arch_list(),
        "gpus": [
            {
                "uuid": f"GPU-{torch.cuda.get_device_properties(index).uuid}",
                "name": torch.cuda.get_device_name(index),
                "compute_capability": ".".join(map(str, torch.cuda.get_device_capability(index))),
            }
            for index in range(torch.cuda.device_count())
        ],
    }
    if torch.version.cuda:
        report["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    return report


def _inside(path: str) -> bool:
    return Path(path).resolve().is_relative_to(Path(sys.prefix).resolve())


def main() -> None:
    """Print packages, those that come from the host's own Python, and the framework's report."""
    own: dict[str, str] = {}
    lent: dict[str, str] = {}
    for one in distributions():
        name = one.metadata["Name"].lower().replace("_", "-")
        if name not in own:
            (own if _inside(str(one.locate_file(""))) else lent).setdefault(name, one.version)
    lent = {name: version for name, version in lent.items() if name not in own}
    report = _torch() if "torch" in own or "torch" in lent else {}
    print(json.dumps({"packages": own, "system_site": lent, "report": report}))


if __name__ == "__main__":
    main()
