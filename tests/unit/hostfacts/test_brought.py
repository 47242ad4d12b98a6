# SPDX-License-Identifier: Apache-2.0
"""Which Python the controller would bring to a host, and which one is used."""

import pytest
from msgspec.structs import replace
from samples.hosts import H100, host, plan

from rekindle.hostfacts import add_brought, choose_interpreter, describe_brought, find_archive, find_unmet
from rekindle.records import FailedProbe, Python, RecordError

NAME = "cpython-3.11.7+20261110-x86_64-unknown-linux-gnu-install_only.tar.gz"
DIGEST = "ab" * 32


def offered(setting="", **facts):
    return add_brought(host(H100, **facts), setting)


def build_of(found):
    return plan(found).build.python


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_host_without_a_python_that_fits_gets_the_pinned_one(machine):
    found = offered(pythons=("3.14.3", "3.6.15"), machine=machine)
    (brought,) = (python for python in found.pythons if python.archive)
    assert brought.version.startswith("3.12.")
    assert brought.archive.startswith("https://github.com/astral-sh/python-build-standalone/releases/")
    assert machine in brought.archive
    assert brought.path == f"/home/u/rekindle/pythons/{brought.sha256[:12]}/bin/python3"
    assert (choose_interpreter(found.pythons), build_of(found)) == (brought.path, brought.path)


def test_the_plan_reports_which_python_and_why():
    (reason,) = (r.message for r in plan(offered(pythons=("3.14.3",))).reasons if r.axis == "python")
    assert reason.endswith("which the controller brings: this host has 3.14.3")


def test_the_hosts_own_is_preferred_even_if_older():
    found = offered(pythons=("3.10.12",))
    assert choose_interpreter(found.pythons) == build_of(found) == "/usr/bin/python3.10"


def test_preflight_reports_which_python_and_why():
    message = "lease has 3.14.3 at /usr/bin/python3.14, and Python 3.10 to 3.12 fits: Python 3.12."
    assert describe_brought(offered(pythons=("3.14.3",))).startswith(message)
    assert "has no Python, and" in describe_brought(offered(pythons=()))
    assert describe_brought(offered(pythons=("3.12.3",))) is None


def test_one_that_was_brought_before_is_not_the_hosts_own():
    before = Python(path="/home/u/rekindle/pythons/0123456789ab/bin/python3", version="3.12.1")
    found = offered(pythons=("3.14.3", before))
    assert before not in found.pythons
    assert len(found.pythons) == 2


def test_an_architecture_without_an_archive_is_refused_with_a_sentence():
    found = offered(pythons=("3.14.3",), machine="riscv64")
    lacks = find_unmet(found, gpus_required=False, min_free_gb=0)
    (complaint,) = (lack for lack in lacks if "Python" in str(lack))
    assert "found: 3.14.3 at /usr/bin/python3.14, and Rekindle has none for riscv64." in str(complaint)


def test_nothing_is_brought_where_the_hosts_own_are_not_known():
    slow = replace(host(), problems=(FailedProbe(name="pythons", message="Late.", timed_out=True),))
    assert add_brought(slow, "") == slow


def test_a_mirrors_archive_has_its_digest_beside_it():
    found = offered(f"/mirror/{NAME}#sha256={DIGEST}", pythons=())
    (brought,) = found.pythons
    assert (brought.version, brought.archive, brought.sha256) == ("3.11.7", f"/mirror/{NAME}", DIGEST)


def test_the_pinned_archive_may_come_from_anywhere():
    pinned = find_archive("", "x86_64")
    name = pinned.source.rpartition("/")[2]
    for place in (f"https://mirror.example/{name.replace('+', '%2B')}", f"/files/{name}"):
        assert find_archive(place, "x86_64") == pinned._replace(source=place)
    assert find_archive(f"/files/{name}", "aarch64") is None


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("/mirror/python.tgz", "is not an archive of python-build-standalone"),
        (f"/mirror/{NAME}", "whose SHA-256 is not known"),
        (f"/mirror/{NAME}#sha256=12", "whose SHA-256 is not known"),
    ],
)
def test_a_setting_that_names_no_known_archive_is_refused(setting, message):
    with pytest.raises(RecordError, match=message):
        find_archive(setting, "x86_64")
