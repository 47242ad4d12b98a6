# SPDX-License-Identifier: Apache-2.0
"""Caches of frameworks lie below Rekindle's root, unless the host sets them."""

import os
from pathlib import Path

import pytest

from rekindle.host import caches


@pytest.fixture(autouse=True)
def bare(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", {"HOME": str(tmp_path / "home")})


def test_every_one_is_below_the_folder_unless_the_host_sets_it(tmp_path):
    os.environ["MPLCONFIGDIR"] = "/fast/matplotlib"
    before = set(os.environ)
    caches.redirect_caches(tmp_path / "cache")
    chosen = {name: os.environ[name] for name in os.environ.keys() - before}
    names = {"XDG_CACHE_HOME", "CUDA_CACHE_PATH", "TRITON_CACHE_DIR", "KERAS_HOME", "PYTHONPYCACHEPREFIX"}
    assert names <= chosen.keys()
    assert all(Path(value).is_relative_to(tmp_path / "cache") for value in chosen.values())
    assert os.environ["MPLCONFIGDIR"] == "/fast/matplotlib"


def test_models_that_are_in_the_home_folder_are_found_there(tmp_path):
    theirs = tmp_path / "home" / ".cache" / "huggingface"
    theirs.mkdir(parents=True)
    caches.redirect_caches(tmp_path / "cache")
    assert os.environ["HF_HOME"] == str(theirs)
