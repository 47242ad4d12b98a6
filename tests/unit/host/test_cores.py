# SPDX-License-Identifier: Apache-2.0
"""A share of the processors counts as those that there are, by the groups of either release."""

import os

import pytest

from rekindle.host.cores import count_cores

ALL = 8


@pytest.mark.parametrize(
    ("groups", "files", "found"),
    [
        ("0::/", {}, ALL),
        ("0::/", {"cpu.max": "max 100000"}, ALL),
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 2),
        ("0::/a/b", {"a/b/cpu.max": "1000 100000", "cpu.max": "300000 100000"}, 1),
        ("0::/elsewhere", {"cpu.max": "300000 100000"}, 3),
        ("4:cpuacct,cpu:/a", {"cpu/a/cpu.cfs_quota_us": "500000", "cpu/a/cpu.cfs_period_us": "100000"}, 5),
        ("4:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, ALL),
        ("3:cpuset:/", {"cpu.max": "100000 100000"}, ALL),
        ("0::/", {"cpu.max": "many few"}, ALL),
        ("0::/", {"cpu.max": "100000 0"}, ALL),
        ("odd", {"cpu.max": "100000 100000"}, ALL),
    ],
)
def test_the_least_share_on_the_way_up_counts(tmp_path, monkeypatch, groups, files, found):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(ALL))
    files = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in {"proc/self/cgroup": groups, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert count_cores(tmp_path) == found
