# SPDX-License-Identifier: Apache-2.0
"""Versions against specifiers."""

import pytest
from packaging.specifiers import SpecifierSet

from rekindle.doctor.catalogue import load_catalogue, match_releases
from rekindle.judge.known_issues import load_known_issues


@pytest.mark.parametrize(
    ("version", "specifier", "fits"),
    [
        ("2.7.3", ">=2.7,<2.8", True),
        ("2.8.0", ">=2.7,<2.8", False),
        ("2.7", "==2.7.0", True),
        ("2.11.0+cu130", ">2.9", True),
        ("2.10.0", "!=2.10", False),
        ("2.7.0rc1", "<=2.7", True),
    ],
)
def test_a_release_fits_or_not(version, specifier, fits):
    assert match_releases({"nvflare": specifier}, {"nvflare": version}) is fits


def test_a_package_that_is_not_there_leaves_it_open():
    assert match_releases({"nvflare": ">=2.7"}, {}) is None
    assert match_releases({}, {}) is True
    assert match_releases({"nvflare": ">=2.8", "torch": ">1"}, {"nvflare": "2.7.3"}) is False


def test_all_specifiers_in_the_data_can_be_read():
    for entry in [*load_catalogue(), *load_known_issues()]:
        assert all(SpecifierSet(releases) for releases in entry.versions.values())
