# SPDX-License-Identifier: Apache-2.0
"""Which file of each pin a host would take, and how much all of them are."""

import hashlib
import re

import pytest
from samples.hosts import H200, host, python, solved

from rekindle import locks
from rekindle.capsule import sizes
from rekindle.capsule.specs import make_specs
from rekindle.locks import File
from rekindle.records.plan import FRAMEWORKS

NAMES = {
    1: "one-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    2: "one-1-cp311-cp311-manylinux_2_28_x86_64.whl",
    4: "one-1-cp311-cp311-manylinux_2_28_aarch64.whl",
    8: "one-1-cp39-abi3-manylinux_2_28_x86_64.whl",
    16: "one-1-cp312-cp312-manylinux_2_34_x86_64.whl",
    32: "one-1.tar.gz",
    64: "two-1-py3-none-any.whl",
}
KNOWN = [File(hashlib.sha256(name.encode()).hexdigest(), size, name) for size, name in NAMES.items()]


def lock(name):
    digests = [file.sha256 for file in KNOWN if file.name.startswith(name)]
    return " \\\n".join([f"{name}==1", *(f"    --hash=sha256:{digest}" for digest in digests)]) + "\n"


@pytest.fixture
def fetched(monkeypatch):
    """Return the bytes that a host fetches for locks, of which the files above are known."""
    monkeypatch.setattr(locks, "read_known_files", lambda: KNOWN)

    def fetched(*texts, version="3.11.9", **facts):
        found = host(pythons=[version], **facts)
        specs = [{"python": found.pythons[0].path, "lock_text": text} for text in texts]
        return sizes.sum_downloads(specs, found)

    return fetched


@pytest.mark.parametrize(
    ("size", "hosts"),
    [
        (1, [{"glibc": "2.17"}, {"glibc": None}]),
        (2, [{}, {"glibc": "2.9999999999"}, {"glibc": "3"}]),
        (4, [{"machine": "aarch64"}]),
        (8, [{"version": "3.12.3", "glibc": "2.28"}]),
        (16, [{"version": "3.12.3"}]),
        (32, [{"version": "3.12.3", "glibc": "2.17"}, {"version": "3.10.1", "machine": "aarch64"}]),
    ],
)
def test_a_host_takes_the_best_wheel_for_it_or_else_the_source(fetched, hosts, size):
    assert [fetched(lock("one"), **facts) for facts in hosts] == [size] * len(hosts)


def test_what_two_environments_share_is_fetched_once(fetched):
    assert fetched(lock("one") + lock("two"), lock("two")) == 2 + 64
    assert fetched() == 0
    assert fetched(lock("one"), re.sub(r"\w{64}", "0" * 64, lock("two"))) is None  # an unknown file


def test_another_architecture_s_pin_is_not_fetched(fetched):
    text = lock("one") + re.sub("==1 ", "==1 ; platform_machine == 'aarch64' ", lock("two"))
    assert fetched(text) == 2
    assert fetched(text, machine="aarch64") == 4 + 64


def test_of_our_own_locks_every_size_is_known():
    found = host(H200, pythons=[python("3.12.3")])
    driver, torch, *others = specs = make_specs(solved(found, *FRAMEWORKS), found)
    assert len(others) == len(FRAMEWORKS) - 1
    assert 1e6 < sizes.sum_downloads([driver], found) < 1e7
    of_torch, every = sizes.sum_downloads([torch], found), sizes.sum_downloads(specs, found)
    assert 1e9 < of_torch < every < sum(sizes.sum_downloads([spec], found) for spec in specs)
