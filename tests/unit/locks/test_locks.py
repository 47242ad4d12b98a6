# SPDX-License-Identifier: Apache-2.0
"""A lock is its pins, joined with the files that hosts of the lock can install."""

import re

import pytest

from rekindle import locks
from rekindle.locks import File

HEAD = "# Written by scripts/make_locks.py for Python 3.11 on Linux aarch64 and x86_64, glibc 2.28 or newer."
KNOWN = tuple(
    File(letter * 64, 1, name)
    for letter, name in {
        "a": "Some_pkg-1.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        "b": "Some_pkg-1.0-cp311-cp311-manylinux_2_34_aarch64.whl",
        "c": "Some_pkg-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        "d": "Some_pkg-1.0.tar.gz",
        "e": "Some_pkg-1.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "f": "only-2-py2.py3-none-any.whl",
    }.items()
)


def rendered(*pins, head=HEAD):
    """Return the digests of each pin, by the letter that they are made of."""
    first, *blocks = re.split(r"\n(?=\w)", locks.render_lock("\n".join([head, *pins]) + "\n", KNOWN))
    assert first == head
    return {block.split(" \\\n")[0]: "".join(re.findall(r"sha256:(\w)", block)) for block in blocks}


def test_a_pin_has_the_wheels_of_its_locks_pythons_and_architectures():
    assert rendered("some-pkg==1.0", "only==2") == {"some-pkg==1.0": "ab", "only==2": "f"}
    other = HEAD.replace("3.11", "3.12").replace("aarch64 and ", "")
    assert rendered("some-pkg==1.0", head=other) == {"some-pkg==1.0": "c"}
    newer = HEAD.replace("3.11", "3.11 and newer").replace("aarch64 and ", "")
    assert rendered("some-pkg==1.0", head=newer) == {"some-pkg==1.0": "acd"}


def test_a_pin_with_a_marker_has_those_of_its_architecture():
    pin, local = (f"some-pkg=={version} ; platform_machine == 'x86_64'" for version in ("1.0", "1.0+cpu"))
    assert rendered(pin, local) == {pin: "a", local: "e"}


def test_source_counts_where_there_is_no_wheel():
    assert rendered("some-pkg==1.0", head=HEAD.replace("3.11", "3.10")) == {"some-pkg==1.0": "d"}


@pytest.mark.parametrize(
    ("pins", "reason"),
    [
        (f"{HEAD}\nother==1\n", "files.list has no file of 'other==1'"),
        (f"{HEAD}\nonly==3\n", "files.list has no file of 'only==3'"),
        (f"{HEAD}\nonly>=2\n", "'only>=2' under .* is no pin"),
        ("# Made by hand.\nonly==2\n", "is no pin of a lock"),
    ],
)
def test_what_cannot_be_joined_is_no_lock(pins, reason):
    with pytest.raises(ValueError, match=reason):
        locks.render_lock(pins, KNOWN)


def test_a_name_that_is_no_lock_has_no_digest():
    assert locks.digest_lock("files.list") is None
    assert locks.digest_lock("../rules.json") is None
    assert len(locks.digest_lock("driver.txt")) == 64
