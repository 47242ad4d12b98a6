# SPDX-License-Identifier: Apache-2.0
"""Recorded runs, and copies of them to break; and the golden files of sentences."""

import hashlib
import importlib
import json
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest
from runners.plays import REPOSITORY
from stand_ins.slurm_queue import Queue

from rekindle import locks

os.environ.pop("PYTHONUNBUFFERED", None)
"""A user's output is buffered, and what cannot be written shows only as Python ends."""

RECORDINGS = Path(__file__).parents[1] / "recordings"
GOLDEN = Path(__file__).parents[1] / "golden"


def pytest_addoption(parser):
    parser.addoption("--write-golden", action="store_true", help="rewrite tests/golden; without -n")


@pytest.fixture
def golden(request, tmp_path):
    """Return what compares a test's sentences with those that tests/golden/ROOM.json has under its name."""
    path, name = GOLDEN / f"{request.path.parent.name}.json", f"{request.path.stem} {request.node.name}"

    def compare(*sentences):
        places = {str(tmp_path): "$TMP", str(REPOSITORY): "$REPOSITORY"}
        for folder, short in places.items():
            sentences = [sentence.replace(folder, short) for sentence in sentences]
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if request.config.getoption("--write-golden", False):
            known = dict(sorted({**known, name: sentences}.items()))
            path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        assert sentences == known.get(name)

    return compare


@pytest.fixture
def own_state(tmp_path, monkeypatch):
    """Be a user of one's own, who has sent nothing before and has another key."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def clean_run(tmp_path):
    """Return a copy of a recorded run on CPU that passed."""
    return Path(shutil.copytree(RECORDINGS / "runs" / "pt_ddp-cpu-2", tmp_path / "run"))


@pytest.fixture
def recordings():
    """Return the folder of recordings of real hosts and runs."""
    return RECORDINGS


@pytest.fixture(scope="session")
def uv_cache(tmp_path_factory):
    """Return uv's cache."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def root(tmp_path, uv_cache):
    """Return Rekindle's folder on a host, with uv in it and a cache that all tests share."""
    (tmp_path / "cache" / "bin").mkdir(parents=True)
    shutil.copy(Path(sys.executable).with_name("uv"), tmp_path / "cache" / "bin" / "uv")
    (tmp_path / "cache" / "uv").symlink_to(uv_cache)
    (tmp_path / "tmp").mkdir()
    return tmp_path


@pytest.fixture
def spec():
    """Return what the driver's own environment is built from: four small packages."""
    lock = locks.read_lock("driver.txt").encode()
    return {
        "name": "driver",
        "python": sys.executable,
        "lock": "driver.txt",
        "lock_sha256": hashlib.sha256(lock).hexdigest(),
        "lock_text": lock.decode(),
        "system_site": False,
        "gpus": [],
        "local": "",
        "offline": False,
    }


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """Return SLURM's queue, of stand-ins on the PATH."""
    stand_ins = Queue(tmp_path / "slurm-bin")
    monkeypatch.setenv("PATH", str(stand_ins.folder), prepend=":")
    return stand_ins


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
