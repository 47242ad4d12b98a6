"""Recorded runs, and copies of them to break."""

import hashlib
import shutil
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from slurm_queue import Queue

RECORDINGS = Path(__file__).parents[1] / "recordings"


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
    lock = files("rekindle.locks").joinpath("driver.txt").read_bytes()
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
