"""How scripts/make_locks.py writes what uv resolved, without an index."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """Return the modules make_locks and resolve."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "scripts"))
    modules = importlib.import_module("make_locks"), importlib.import_module("resolve")
    for name in ("make_locks", "resolve"):
        monkeypatch.delitem(sys.modules, name)
    return modules


def test_a_pin_of_one_architecture_carries_a_marker(scripts: tuple[ModuleType, ModuleType]) -> None:
    make_locks, resolve = scripts
    common = resolve.Package("numpy", "2.4.6", {"numpy.whl": "b"}, "unused")
    source = resolve.Package("pyhocon", "0.3.63", {}, "c")
    x86 = resolve.Package("torch", "2.13.0+cpu", {"torch.whl": "d"}, None)
    arm = resolve.Package("torch", "2.10.0", {"torch.whl": "e"}, None)
    found = {"x86_64": [common, source, x86], "aarch64": [common, source, arm]}
    text = make_locks.render(make_locks.Lock(["3.11"]), found)
    assert text.splitlines()[1:] == [
        "numpy==2.4.6 \\",
        "    --hash=sha256:b",
        "pyhocon==0.3.63 \\",
        "    --hash=sha256:c",
        "torch==2.10.0 ; platform_machine == 'aarch64' \\",
        "    --hash=sha256:e",
        "torch==2.13.0+cpu ; platform_machine == 'x86_64' \\",
        "    --hash=sha256:d",
    ]
    assert make_locks.pins(text, "x86_64") == {
        "numpy": "2.4.6",
        "pyhocon": "0.3.63",
        "torch": "2.13.0+cpu",
    }


def test_pythons_that_need_different_pins_are_refused(scripts: tuple[ModuleType, ModuleType]) -> None:
    make_locks, resolve = scripts
    found = {"x86_64": [resolve.Package("psutil", version, {"a": "b"}, None) for version in ("7.1", "7.2")]}
    with pytest.raises(SystemExit, match=r"psutil is 7\.1 for one Python and 7\.2 for another"):
        make_locks.render(make_locks.Lock(["3.10", "3.11"]), found)


def test_every_build_of_the_catalogue_gets_a_lock(scripts: tuple[ModuleType, ModuleType]) -> None:
    make_locks, _ = scripts
    wanted = make_locks.locks()
    assert set(wanted["lightning-2.6.6-cpu-py311.txt"].requirements) == {"x86_64", "aarch64"}
    assert "torch==2.13.0+cpu" in wanted["torch-2.13.0-cpu-py311.txt"].requirements["x86_64"]
    assert all(lock.requirements for lock in wanted.values())


def test_wheels_of_other_systems_and_pythons_are_not_locked(scripts: tuple[ModuleType, ModuleType]) -> None:
    _, resolve = scripts
    names = [
        "x-1-cp311-cp311-manylinux_2_28_x86_64.whl",
        "x-1-cp39-abi3-manylinux2014_x86_64.whl",
        "x-1-py3-none-any.whl",
        "x-1-cp312-cp312-manylinux_2_28_x86_64.whl",
        "x-1-cp311-cp311-manylinux_2_28_aarch64.whl",
        "x-1-cp311-cp311-musllinux_1_2_x86_64.whl",
        "x-1-cp311-cp311-win_amd64.whl",
    ]
    wheels = [{"url": f"file:///somewhere/{name}", "hashes": {"sha256": name}} for name in names]
    entry = {"name": "x", "version": "1", "wheels": wheels}
    package = resolve._package(entry, resolve.linux_tags("3.11", "x86_64"))
    assert list(package.wheels) == names[:3]
