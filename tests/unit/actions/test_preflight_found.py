"""How a host is spoken to once preflight has found out what it is, and before."""

from importlib.util import module_from_spec, spec_from_file_location

import pytest
from plays import REPOSITORY

ROOT = "~/rekindle"


@pytest.fixture
def found():
    """Return what the lookup says of a host's folder of results."""
    path = REPOSITORY / "plugins" / "lookup" / "preflight_found.py"
    spec = spec_from_file_location("preflight_found", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda home: module.LookupModule().run([str(home)], root=ROOT)


def test_the_python_and_the_root_of_its_record(found, home):
    assert found(home) == [{"python": "/usr/bin/python3.12", "root": "/tmp/rekindle"}]


@pytest.mark.parametrize("text", [None, "", "{}", '{"schema": "rekindle/host/999"}'])
def test_without_a_record_that_can_be_read_what_the_inventory_has(found, tmp_path, text):
    if text is not None:
        (tmp_path / "host.json").write_text(text)
    assert found(tmp_path) == [{"python": "auto_silent", "root": ROOT}]


def test_the_python_that_ansible_is_configured_with_comes_first(found, home, monkeypatch):
    monkeypatch.setenv("ANSIBLE_PYTHON_INTERPRETER", "/opt/python3")
    assert found(home) == [{"python": "/opt/python3", "root": "/tmp/rekindle"}]
    monkeypatch.setenv("ANSIBLE_PYTHON_INTERPRETER", "auto")
    assert found(home)[0]["python"] == "/usr/bin/python3.12"
