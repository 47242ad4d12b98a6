# SPDX-License-Identifier: Apache-2.0
"""Lookups: a record, or one sentence; and how a host is spoken to."""

from importlib.util import module_from_spec, spec_from_file_location

import pytest
from ansible.errors import AnsibleLookupError
from msgspec.structs import replace
from runners.plays import REPOSITORY

from rekindle.records import Allocation, HostRecord, read_record, write_record


def _lookup(name):
    spec = spec_from_file_location(name, REPOSITORY / "plugins" / "lookup" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LookupModule()


def test_a_record_is_a_dictionary(home):
    (host,) = _lookup("record").run([str(home / "host.json")], kind="HostRecord")
    assert (host["schema"], len(host["gpus"])) == ("rekindle/host/2", 2)


def test_without_a_record_it_is_one_sentence_with_its_fix(home):
    with pytest.raises(AnsibleLookupError, match=r"does not exist\. Fix: run the stage"):
        _lookup("record").run([f"{home}/none.json"], kind="HostRecord")


def _found(home):
    return _lookup("preflight_found").run([str(home)], root="~/rekindle")


def test_a_host_is_spoken_to_as_preflight_found_it(home):
    assert _found(home) == [{"python": "/usr/bin/python3.12", "root": "/tmp/rekindle"}]


def test_a_cluster_is_spoken_to_as_its_login_node_was_found(home):
    node = read_record(home / "host.json", HostRecord)
    write_record(home / "login.json", replace(node, pythons=(), root="/home/u/rekindle"))
    write_record(
        home / "host.json",
        replace(node, allocation=Allocation(room="slurm", partition="gpu", time="01:00:00")),
    )
    assert _found(home) == [{"python": "auto_silent", "root": "/home/u/rekindle"}]
    (home / "login.json").unlink()
    assert _found(home) == UNKNOWN


UNKNOWN = [{"python": "auto_silent", "root": "~/rekindle"}]


def test_a_host_without_a_record_is_spoken_to_as_the_inventory_has_it(tmp_path):
    assert _found(tmp_path) == UNKNOWN
    for text in ("", "{}", '{"schema": "rekindle/host/999"}'):
        (tmp_path / "host.json").write_text(text)
        assert _found(tmp_path) == UNKNOWN


def test_the_python_that_ansible_is_configured_with_comes_first(home, monkeypatch):
    for given, found in (("/opt/python3", "/opt/python3"), ("auto", "/usr/bin/python3.12")):
        monkeypatch.setenv("ANSIBLE_PYTHON_INTERPRETER", given)
        assert _found(home) == [{"python": found, "root": "/tmp/rekindle"}]
