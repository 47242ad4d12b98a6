# SPDX-License-Identifier: Apache-2.0
"""Packages of jobs on top of a lock: added, there already, or refused; uv is asked once."""

import hashlib
import subprocess
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from runners.plays import REPOSITORY
from samples.hosts import solved

from rekindle import locks
from rekindle.capsule import find_lock, packages
from rekindle.jobs import load_job
from rekindle.records import HostRecord, read_record
from rekindle.records.plan import name_plain

PIN = "einops==0.8.2 \\\n    --hash=sha256:" + "a" * 64 + "\n"
CLASH = "error: No solution found\n  cause: Because a==1 depends on numpy<2\n and numpy==2.4.6, you lose.\n"


@pytest.fixture
def planned(recordings, tmp_path, monkeypatch):
    """Return what plans a job with requirements, and answers for uv."""
    host = read_record(recordings / "h200-x2" / "host.json", HostRecord)
    base = load_job(REPOSITORY / "flare_jobs", "pt_ddp")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MY_OWN", "secret")
    asked = []

    def plan(*requirements, stdout="", stderr="", system_site=False):
        def uv(command, env, **_):
            assert "--no-build" in command, "it would run the setup.py of a package that is only looked at"
            assert "MY_OWN" not in env
            asked.append(command)
            return SimpleNamespace(returncode=bool(stderr), stdout=stdout, stderr=stderr)

        monkeypatch.setattr(subprocess, "run", uv)
        job = replace(base, requirements=requirements)
        made = solved(host, job.packaged, system_site=system_site)
        (entry,) = packages.add_packages(made, host, [job], tmp_path).environments
        return entry, len(asked)

    return plan


def test_what_uv_adds_stands_below_the_lock_whose_pins_stay(planned, tmp_path):
    numpy = "numpy==1.0 \\\n    --hash=sha256:" + "b" * 64 + "\n"
    entry, asked = planned("einops", stdout=PIN + numpy)
    text = find_lock(entry.build.lock, entry.build.lock_sha256, tmp_path)
    assert hashlib.sha256(text.encode()).hexdigest() == entry.build.lock_sha256
    assert text.startswith(locks.read_lock(name_plain(entry.build.lock)))
    assert text.endswith(f"einops:\n{PIN}")
    assert (planned("einops", stderr="gone")[0], asked) == (entry, 1), "uv was asked again"


def test_what_the_lock_has_is_the_plain_environment(planned):
    entry, asked = planned("numpy>=2", 'nothing ; python_version < "3"')
    assert (entry.framework, entry.build.lock_sha256) == ("torch", locks.digest_lock(entry.build.lock))
    assert asked == 0


def test_what_contradicts_the_lock_is_refused_with_both_names(planned):
    entry, asked = planned("numpy<2", "torch==1.0")
    assert (entry.build, asked) == (None, 0)
    assert entry.refusal.startswith(
        "pt_ddp requires numpy<2 and torch==1.0, and the lock of torch has numpy 2."
    )


def test_uv_s_reason_is_in_one_sentence(planned):
    entry, _ = planned("a==1", stderr=CLASH)
    assert entry.build is None
    assert ": because a==1 depends on numpy<2 and numpy==2.4.6, you lose. Fix: change what" in entry.refusal


def test_the_host_s_own_torch_counts_and_is_left_alone(planned):
    entry, asked = planned("torch==1.0", system_site=True)
    assert (entry.build, asked) == (None, 0)
    entry, _ = planned("einops", stdout=PIN, system_site=True)
    assert entry.build.lock.startswith("torch+")
    assert entry.build.system_site
