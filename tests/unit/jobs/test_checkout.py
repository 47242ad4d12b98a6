# SPDX-License-Identifier: Apache-2.0
"""A checkout of NVFlare's: folders, clones, and examples that it lacks or that are of another release."""

import shutil
import subprocess

import pytest
from msgspec.structs import replace

from rekindle.host import payload
from rekindle.jobs import checkout, expand_names, list_jobs, load_job
from rekindle.records import RecordError

JOB = """
schema: rekindle/job/1
name: hello-numpy
summary: an example
environment: torch+vision
example: {folder: hello-world/hello-numpy, command: [job.py]}
sites: 2
ranks_per_site: 1
rounds: 3
when_short_of_gpus: share
limit_s: 60
proof: [{claim: rounds_completed}]
"""


def git(folder, *commands):
    """Run commands of git's in a folder."""
    for words in commands:
        author = ["-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", "-C", str(folder), *author, *words], check=True)


@pytest.fixture
def jobs(tmp_path):
    """Return a folder of jobs with one example."""
    folder = tmp_path / "flare_jobs"
    (folder / "examples").mkdir(parents=True)
    (folder / "examples" / "hello-numpy.yml").write_text(JOB)
    return folder


@pytest.fixture
def repository(tmp_path):
    """Return a repository with that example, tagged as NVFlare's are."""
    folder = tmp_path / "NVFlare"
    (folder / "examples" / "hello-world" / "hello-numpy").mkdir(parents=True)
    (folder / "examples" / "hello-world" / "hello-numpy" / "job.py").write_text("")
    git(folder, ["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "c"], ["tag", "2.7.3"])
    return folder


def test_a_folders_commit_is_gits_and_its_examples_are_held_to_it(jobs, repository):
    found = checkout.provide_checkout(str(repository), None)
    assert found.commit == "2.7.3"
    found.require([load_job(jobs, "examples/hello-numpy")])


def test_a_url_is_cloned_once_into_the_users_cache(monkeypatch, tmp_path, jobs, repository):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = checkout.provide_checkout(f"file://{repository}@2.7.3", None)
    assert first.folder.is_relative_to(tmp_path / "cache")
    (first.folder / "kept").write_text("")
    assert (checkout.provide_checkout(f"file://{repository}@2.7.3", None).folder / "kept").exists()


def test_what_cannot_be_cloned_is_one_sentence(monkeypatch, tmp_path, repository):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    message = r"cannot be fetched from file://.* at 9\.9: .* Fix: name a folder"
    with pytest.raises(RecordError, match=message) as error:
        checkout.provide_checkout(f"file://{repository}@9.9", None)
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "cache/rekindle/nvflare").iterdir())


def test_a_folder_without_examples_is_none(tmp_path):
    with pytest.raises(RecordError, match=r"and .* has no examples/\. Fix: name a folder"):
        checkout.provide_checkout(str(tmp_path), None)


def _removed(jobs):
    removed = "removed: {commit: f8ee79e3b, why: stop_cond= is its heir}"
    text = JOB.replace("hello-numpy", "old").replace("command: [job.py]", f"command: [job.py], {removed}")
    (jobs / "examples" / "old.yml").write_text(text)
    return load_job(jobs, "examples/old")


def test_an_example_that_was_removed_is_reported_with_its_last_tag_and_its_heir(golden, jobs, repository):
    found, job = checkout.provide_checkout(str(repository), None), _removed(jobs)
    golden(str(found.lacks(job)))
    found.require([job, load_job(jobs, "examples/hello-numpy")])
    (repository / "examples" / "hello-world" / "old").mkdir()
    assert found.lacks(job) is None


def test_what_was_not_removed_and_is_not_there_is_refused(jobs, repository):
    (repository / "examples/hello-world/hello-numpy").rename(repository / "examples/hello-world/moved")
    found, job = checkout.provide_checkout(str(repository), None), load_job(jobs, "examples/hello-numpy")
    assert found.lacks(job) is None
    with pytest.raises(RecordError, match=r"has no examples/\S+/hello-numpy, which hello-numpy runs\. Fix: "):
        found.require([job])


def test_an_example_of_another_release_is_refused(jobs, repository):
    git(repository, ["commit", "-q", "--allow-empty", "-m", "d"], ["tag", "2.9.0"])
    with pytest.raises(RecordError, match=r"is a checkout of NVFlare 2\.9\.0, and hosts get 2\.7\.3\. Fix:"):
        checkout.provide_checkout(str(repository), None).require([load_job(jobs, "examples/hello-numpy")])


def test_it_is_held_to_what_is_described_for_the_hosts_release(jobs, repository):
    found, hello = checkout.provide_checkout(str(repository), "2.9.0"), load_job(jobs, "examples/hello-numpy")
    found.require([hello])  # which is described for 2.7 alone: that host gets a refusal
    newer = replace(hello, example=replace(hello.example, releases=("2.9",)))
    with pytest.raises(RecordError, match=r"is a checkout of NVFlare 2\.7\.3, and hosts get 2\.9\.0"):
        found.require([newer])


def test_all_examples_stand_for_each(jobs):
    assert list_jobs(jobs) == ["examples/hello-numpy", "examples/all"]
    asked = ["pt_ddp", "examples/all", "examples/hello-numpy"]
    assert expand_names(jobs, asked) == ["pt_ddp", "examples/hello-numpy"]


def _travelling(repository):
    """Return the files of the example as they are sent."""
    folder = repository / "examples/hello-world/hello-numpy"
    return {name: (folder / name).read_bytes() for name in payload.list_travelling(folder)}


def _edit(folder):
    (folder / "job.py").write_text("edited")


def _edit_unseen(folder):
    """Edit a file of which git is to assume that nobody does."""
    git(folder, ["update-index", "--assume-unchanged", "job.py"])
    _edit(folder)


def _add(folder):
    (folder / "client.py").write_text("new")
    git(folder, ["add", "client.py"])


def _remove(folder):
    (folder / "job.py").unlink()


@pytest.mark.parametrize(
    ("change", "named"),
    [(_edit, "job.py"), (_edit_unseen, "job.py"), (_add, "client.py"), (_remove, "job.py")],
)
def test_an_example_with_uncommitted_edits_is_no_commit_s(jobs, repository, change, named):
    job = load_job(jobs, "examples/hello-numpy")
    found = checkout.provide_checkout(str(repository), None)
    assert found.version(job, _travelling(repository)) == "2.7.3"
    change(repository / "examples/hello-world/hello-numpy")
    assert found.version(job, _travelling(repository)) == f"2.7.3-dirty ({named})"


def test_edits_elsewhere_and_what_is_not_sent_leave_an_example_clean(jobs, repository):
    example = repository / "examples/hello-world/hello-numpy"
    (repository / "README.md").write_text("edited")
    (repository / "examples/other.py").write_text("edited")
    (example / "untracked.py").write_text("")
    (example / ".hidden").write_text("")
    (example / "link.py").symlink_to("job.py")
    git(repository, ["add", "README.md"])
    found = checkout.provide_checkout(str(repository), None)
    assert found.version(load_job(jobs, "examples/hello-numpy"), _travelling(repository)) == "2.7.3"


def test_a_checkout_whose_lines_end_otherwise_than_in_git_is_clean(jobs, repository):
    example = repository / "examples/hello-world/hello-numpy"
    (repository / ".gitattributes").write_text("*.py text eol=crlf\n")
    (example / "job.py").write_bytes(b"a\r\n")
    git(repository, ["add", "."], ["commit", "-qm", "d"], ["tag", "2.7.4"])
    found = checkout.provide_checkout(str(repository), None)
    assert found.version(load_job(jobs, "examples/hello-numpy"), _travelling(repository)) == "2.7.4"


def test_a_folder_without_git_has_no_commit_to_differ_from(jobs, repository):
    shutil.rmtree(repository / ".git")
    found = checkout.provide_checkout(str(repository), None)
    assert found.version(load_job(jobs, "examples/hello-numpy"), {"job.py": b"edited"}) == "unknown"
