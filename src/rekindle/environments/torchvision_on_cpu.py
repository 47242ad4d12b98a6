# SPDX-License-Identifier: Apache-2.0
"""Lets torchvision's CUDA build import beside a CPU torch, where an index has only that.

Copied into such an environment, and imported by each Python that starts there. Its compiled operators stay
missing; data sets, transforms and models need none.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_OPERATORS = ("nms", "qnms")
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


class _Finder(MetaPathFinder):
    """Finds torchvision as Python does, and declares the operators before it is executed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of torchvision alone."""
        spec = PathFinder.find_spec(name, path, target) if name == "torchvision" else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: Any) -> None:
            import torch  # noqa: PLC0415 - only where torchvision is imported

            # Its declarations last as long as the library object.
            module.library = torch.library.Library("torchvision", "FRAGMENT")
            for operator in _OPERATORS:
                module.library.define(operator + _SIGNATURE)
            execute(module)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _Finder())
