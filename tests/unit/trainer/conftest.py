# SPDX-License-Identifier: Apache-2.0
"""As much of NVFlare as our components take, which the tests' own Python does not have."""

import importlib
import sys
from types import ModuleType

import pytest


@pytest.fixture
def component(monkeypatch):
    """Return what imports a module of ours again beside stand-ins of NVFlare's, each with what it ``has``."""
    imported = []

    def load(name, nvflare):
        for path, has in nvflare.items():
            module = ModuleType(f"nvflare.{path}")
            vars(module).update(has)
            monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.delitem(sys.modules, name, raising=False)
        imported.append(name)
        return importlib.import_module(name)

    yield load
    for name in imported:
        sys.modules.pop(name, None)
