# SPDX-License-Identifier: Apache-2.0
"""A checkout of a stranger's: nothing that it names is run, and nothing outside of it travels."""

import subprocess

import pytest

from rekindle.host.git import ask_git
from rekindle.host.payload import list_travelling, pack_payload
from rekindle.jobs.checkout import provide_checkout


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with a commit, whose configuration names a program wherever git takes one."""
    folder = tmp_path / "checkout"
    (folder / "examples/a").mkdir(parents=True)
    (folder / "examples/a/job.py").write_text("print()\n")
    (folder / ".gitattributes").write_text("* filter=own\n")
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "a"), ("tag", "2.7.2")):
        ask_git(*words, folder=folder)
    touch = f"touch {tmp_path}/ran; cat"
    hook = folder / ".git/hooks/post-index-change"
    hook.write_text(f"#!/bin/sh\n{touch}\n")
    hook.chmod(0o755)
    (folder / ".git/config.worktree").write_text(f'[filter "own"]\nsmudge = "{touch}"\n')
    with (folder / ".git/config").open("a") as stream:
        stream.write(
            f'[extensions]\nworktreeConfig = true\n[core]\nfsmonitor = "{touch}"\n'
            f'[filter "own"]\nsmudge = "{touch}"\nclean = "{touch}"\n[tar "tar"]\ncommand = "{touch}"\n'
        )
    return folder


def test_nothing_that_a_checkout_names_is_run(checkout, tmp_path):
    example = checkout / "examples/a"
    assert list_travelling(example) == ["job.py"]
    assert pack_payload(example)
    known = provide_checkout(str(checkout), None)
    assert known.commit == "2.7.2"
    of = type("Job", (), {"example": type("Example", (), {"folder": "a"})})
    assert known.version(of, {"job.py": b"print()\n"}) == "2.7.2"
    assert not (tmp_path / "ran").exists()
    subprocess.run(["git", "-C", str(checkout), "status"], check=True, capture_output=True)
    assert (tmp_path / "ran").exists(), "the checkout names nothing that git would run"


def test_files_outside_do_not_travel_though_an_index_lists_them(checkout, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    blob = ask_git("hash-object", "-w", "--no-filters", str(secret), folder=checkout).decode().strip()
    index = checkout / ".git/index"
    ask_git(
        "update-index", "--add", "--cacheinfo", f"100644,{blob},{'z' * len(str(secret))}", folder=checkout
    )
    ask_git("update-index", "--add", "--cacheinfo", f"100644,{blob},zz/zecret", folder=checkout)
    content = index.read_bytes().replace(b"z" * len(str(secret)), str(secret).encode())
    index.write_bytes(content.replace(b"zz/zecret", b"../secret"))
    names = list_travelling(checkout)
    assert names in ([], ["examples/a/job.py"])
