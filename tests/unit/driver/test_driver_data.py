# SPDX-License-Identifier: Apache-2.0
"""A user's data in a run's folder."""

import zipfile

import pytest
from msgspec.structs import replace
from runners.plays import REPOSITORY

from rekindle.driver import data
from rekindle.host import payload
from rekindle.jobs import load_job
from rekindle.records.job import Folders

JOBS = REPOSITORY / "flare_jobs"


def job(**own):
    hello = load_job(JOBS, "examples/hello-numpy")
    return replace(hello, sites=2, data=Folders(**own))


def test_what_was_sent_is_copied_by_site(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "payload.zip", "w") as archive:
        for site in ("site-1", "site-2"):
            archive.writestr(f"flare_jobs/hello-numpy.data/{site}/x.csv", site)
    monkeypatch.setattr(payload, "PACKAGE", tmp_path / "payload.zip" / "rekindle")
    data.give_data(tmp_path / "run", job(from_="/data/{n}", where="controller", to="{data}/parts"))
    for site in ("site-1", "site-2"):
        assert (tmp_path / "run/data/parts" / site / "x.csv").read_text() == site


def test_what_the_host_has_is_linked(tmp_path):
    data.give_data(tmp_path / "run", job(from_=f"{tmp_path}/mnist"))
    assert (tmp_path / "run/data/mnist").readlink() == tmp_path / "mnist"


def test_folders_of_one_name_stay_apart(tmp_path):
    data.give_data(tmp_path / "run", job(from_=f"{tmp_path}/{{n}}/images"))
    for site in (1, 2):
        assert (tmp_path / f"run/data/site-{site}").readlink() == tmp_path / str(site) / "images"


@pytest.mark.parametrize("name", ["examples/hello-pt", "pt_ddp"])
def test_other_jobs_get_nothing(tmp_path, name):
    data.give_data(tmp_path / "run", load_job(JOBS, name))
    assert not (tmp_path / "run").exists()
