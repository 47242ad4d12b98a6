# SPDX-License-Identifier: Apache-2.0
"""`rekindle diff`: all that differs, and nothing else."""

from rekindle.capsule import differences as diff
from rekindle.records import Environment, EnvRecord


def _environment(**changes):
    base = {
        **{"framework": "torch", "path": "/a", "python": "/a/bin/python", "python_version": "3.12.3"},
        **{"lock": "l.txt", "lock_sha256": "0" * 64, "built": "2026-11-21T02:00:00Z", "build_s": 1.0},
        "packages": {"torch": "2.11.0", "numpy": "2.5.5"},
        "probe": {"build": {"cuda": "13.0"}},
    }
    return EnvRecord(host="h", environments=(Environment(**{**base, **changes}),))


def test_diff_names_what_differs_and_nothing_else():
    same = _environment(path="/b", built="2026-11-22T02:00:00Z", build_s=9.0)
    other = _environment(packages={"torch": "2.13.0", "scipy": "1"}, probe={"build": {"cuda": "12.8"}})
    assert list(diff.differences(_environment(), same)) == []
    assert list(diff.differences(_environment(), other)) == [
        "torch: build cuda: 13.0 → 12.8",
        "torch: package numpy: 2.5.5 → absent",
        "torch: package scipy: absent → 1",
        "torch: package torch: 2.11.0 → 2.13.0",
    ]
    assert list(diff.differences(_environment(), EnvRecord(host="h", environments=()))) == [
        "torch: only in the first"
    ]
