# SPDX-License-Identifier: Apache-2.0
"""``rekindle site --job``: jobs in place of those of the inventory."""

import json

import pytest

from rekindle.cli import plays


@pytest.fixture
def played(monkeypatch):
    """Return the words that go to Ansible, instead of a play."""
    words = []
    monkeypatch.setattr(plays, "start_playbook", lambda playbook, given, *_: words.extend(given) or (0, None))
    return words


@pytest.mark.parametrize("checks", [[], ["--check"], ["-C"]])
def test_jobs_are_named_in_place_of_the_inventorys(call, monkeypatch, played, tmp_path, checks):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "job.py").touch()
    (tmp_path / "pt_ddp").mkdir()
    monkeypatch.chdir(tmp_path)
    asked = ("mine/job.py", "mine", "pt_ddp", "examples/hello-pt", "gone/job.py")
    assert call("site", *checks, "-i", "hosts", *(word for job in asked for word in ("--job", job)))[0] == 0
    wanted = [f"{tmp_path}/mine/job.py", f"{tmp_path}/mine", "pt_ddp", "examples/hello-pt", "gone/job.py"]
    at = played.index("-e")
    assert json.loads(played[at + 1]) == {"rekindle_jobs": wanted}
    assert played[:at] == ["--check"] * bool(checks) + ["-i", "hosts"]


def test_without_it_the_inventorys_are_run(call, played):
    call("site", "-i", "hosts", "-e", "stop=true")
    assert played == ["-i", "hosts", "-e", "stop=true"]


@pytest.mark.parametrize("variable", ["", "NOTE"])
def test_what_is_not_utf_8_is_refused_in_a_sentence(call, monkeypatch, variable):
    if variable:
        monkeypatch.setenv(variable, "no\udcff")
    named = "NOTE" if variable else "an argument"
    status, out, err = call("site", "-i", "hosts" if variable else "no\udcff")
    assert (status, out) == (2, "")
    assert err.startswith(f"Ansible takes UTF-8 alone, and {named} is 'no\\udcff'. Fix: ")
    assert err.count("\n") == 1
