# SPDX-License-Identifier: Apache-2.0
"""Data of users' jobs that this machine has: sent with the job, or a sentence for why they cannot be."""

import pytest
from runners.plays import REPOSITORY

from rekindle.jobs import list_sent_data, load_job
from rekindle.records import RecordError

JOBS = REPOSITORY / "flare_jobs"


@pytest.fixture
def own(tmp_path):
    """Return what reads a job of two sites whose job.yml has these ``data``."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "job.py").write_text("recipe.execute(SimEnv(num_clients=2))\n")

    def read(data):
        (folder / "job.yml").write_text(f"data: {data}\n")
        return load_job(JOBS, str(folder))

    return read


@pytest.fixture
def data(tmp_path):
    """Return a folder with data of two sites."""
    for site in (1, 2):
        (tmp_path / "data" / f"part{site}").mkdir(parents=True)
        (tmp_path / "data" / f"part{site}" / "x.csv").write_text("1\n")
    return tmp_path / "data"


def test_a_folder_of_each_site_is_sent_by_the_site_s_number(own, data, tmp_path):
    job = own(f"{{from: '{data}/part{{n}}', where: controller}}")
    assert list_sent_data(job, tmp_path / "mine") == {
        "mine.data/site-1": data / "part1",
        "mine.data/site-2": data / "part2",
    }


def test_one_folder_keeps_its_name_and_may_be_relative_to_the_job(own, data, tmp_path):
    job = own("{from: ../data, where: controller}")
    assert list_sent_data(job, tmp_path / "mine") == {"mine.data/data": tmp_path / "mine" / "../data"}


def test_what_the_host_has_is_not_sent(own, data, tmp_path):
    assert list_sent_data(own(f"{{from: {data}}}"), tmp_path / "mine") == {}


def test_a_container_gets_what_is_sent(own, data):
    job = own(f"{{from: {data}, where: controller}}\ncontainer: {{image: python}}\nenvironment: torch")
    assert job.data.where == "controller"


def test_what_is_not_here_is_one_sentence(own):
    with pytest.raises(RecordError, match="Fix: correct the path") as error:
        own("{from: '/nowhere/site-{n}', where: controller}")
    assert "has data from /nowhere/site-1, and no folder with files is there on this" in str(error.value)


def test_what_is_too_large_is_to_be_put_on_the_hosts(own, data):
    with (data / "part2" / "large.bin").open("wb") as stream:
        stream.truncate(300_000_000)
    with pytest.raises(RecordError, match="has 300 MB of data that each host would get"):
        own(f"{{from: '{data}/part{{n}}', where: controller}}")


@pytest.mark.parametrize(
    ("where", "what"), [("~/.ssh", "what is in .ssh"), ("~", "the home folder"), ("/", "the home folder")]
)
def test_what_is_hidden_or_a_whole_home_is_not_sent(own, tmp_path, monkeypatch, where, what):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home/.ssh").mkdir(parents=True)
    (tmp_path / "home/.ssh/id").write_text("x")
    with pytest.raises(RecordError, match=f"and {what}.* is not sent to hosts. Fix: put what"):
        own(f"{{from: '{where}', where: controller}}")


def test_a_link_to_what_is_hidden_is_not_sent(own, data, tmp_path):
    (tmp_path / ".private").mkdir()
    (tmp_path / ".private/x").write_text("x")
    (data / "more").symlink_to(tmp_path / ".private")
    with pytest.raises(RecordError, match=r"what is in \.private is not sent"):
        own(f"{{from: '{data}/more', where: controller}}")


def test_what_the_system_shows_is_not_sent(own):
    with pytest.raises(RecordError, match="what the system shows in /proc"):
        own("{from: /proc/self, where: controller}")
