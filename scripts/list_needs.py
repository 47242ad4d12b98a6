# SPDX-License-Identifier: Apache-2.0
"""Writes what each module of NVFlare imports that NVFlare does not bring: src/rekindle/flare/needs.json.

`python scripts/list_needs.py WHEEL`: of one of `pip download nvflare==X --no-deps`. An import counts that
nothing guards, in the module itself, in what it imports of NVFlare, and in the packages above both.
"""

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

TARGET = Path(__file__).parents[1] / "src" / "rekindle" / "flare" / "needs.json"
_ROOT, _SERVICE = "nvflare", "nvflare.dashboard"
_BROUGHT = re.compile(r"^Requires-Dist: (.+)$", re.MULTILINE)
_CALLED = {"grpcio": "grpc", "protobuf": "google", "pyyaml": "yaml"}
"""Modules of what NVFlare brings, where a package has another name than its module."""
_IN_USE = {
    "nvflare.app_opt.flower": "flwr",
    "nvflare.app_opt.lightning": "lightning",
    "nvflare.app_opt.pt": "torch",
    "nvflare.app_opt.tf": "tensorflow",
    "nvflare.app_opt.tracking.mlflow": "mlflow",
    "nvflare.app_opt.tracking.tb": "tensorboard",
    "nvflare.app_opt.tracking.wandb": "wandb",
    "nvflare.app_opt.xgboost": "tensorboard",
    "nvflare.client.lightning": "lightning",
}
"""What modules of a package import in a function, or behind a guard."""


def read_imports(wheel: Path) -> tuple[dict[str, set[str]], set[str]]:
    """Return what each module imports, and the modules that NVFlare brings with it."""
    imports, brought = {}, set[str]()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".py") and name.startswith(f"{_ROOT}/"):
                module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                package = module if name.endswith("/__init__.py") else module.rpartition(".")[0]
                imports[module] = set(_list_imports(ast.parse(archive.read(name)), package))
            elif name.endswith(".dist-info/METADATA"):
                wanted = map(Requirement, _BROUGHT.findall(archive.read(name).decode()))
                names = (
                    one.name.lower().replace("-", "_") for one in wanted if "extra" not in str(one.marker)
                )
                brought = {_CALLED.get(name, name) for name in names}
    return imports, brought


def _list_imports(tree: ast.Module, package: str) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (above, node.module)))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def find_needs(imports: dict[str, set[str]], brought: set[str]) -> dict[str, list[str]]:
    """Return what a module needs beside NVFlare, by modules that need anything."""
    needs = {}
    for module in (name for name in imports if not name.startswith(_SERVICE)):
        seen, waiting = set[str](), {module}
        while waiting:
            one = waiting.pop()
            seen.add(one)
            parts = one.split(".")
            further = imports.get(one, set()) | {".".join(parts[:count]) for count in range(1, len(parts))}
            waiting |= {name for name in further if name not in seen}
        roots = {name.partition(".")[0] for name in seen} - {*sys.stdlib_module_names, _ROOT}
        roots |= {one for package, one in _IN_USE.items() if f"{module}.".startswith(f"{package}.")}
        if wanted := roots - brought:
            needs[module] = sorted(wanted)
    return needs


def main() -> None:
    """Write the table of one wheel."""
    needs = find_needs(*read_imports(Path(sys.argv[1])))
    by_needs: dict[str, list[str]] = {}
    for module, wanted in sorted(needs.items()):
        by_needs.setdefault(" ".join(wanted), []).append(module)
    TARGET.write_text(json.dumps(by_needs, indent=1) + "\n")


if __name__ == "__main__":
    main()
