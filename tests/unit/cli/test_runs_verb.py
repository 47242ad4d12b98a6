# SPDX-License-Identifier: Apache-2.0
"""``rekindle runs --prune``: it asks, and removes what nobody needs."""

import io

import pytest
from report_folders import add_host, fill


@pytest.fixture
def results(tmp_path):
    """Return a folder with three runs of one host that passed, and a link to the latest."""
    for day in (1, 2, 3):
        add_host(fill(tmp_path / f"results/r{day}", "gpu-1", started=f"2026-11-0{day}T02:00:00Z"), "gpu-1")
    (tmp_path / "results/latest").symlink_to("r3")
    return tmp_path / "results"


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def names(results):
    return sorted(path.name for path in results.iterdir())


@pytest.mark.parametrize(("typed", "left"), [("y", ["latest", "r3"]), ("n", ["latest", "r1", "r2", "r3"])])
def test_it_asks(call, results, monkeypatch, typed, left):
    monkeypatch.setattr("sys.stdin", _Terminal(f"{typed}\n"))
    status, out, err = call("runs", results, "--prune", "1")
    assert status == 0
    assert f"Remove 2 of 3 runs: {results}/r1, {results}/r2?" in err
    assert out.lstrip().startswith("Removed 2 of 3 runs: " if typed == "y" else "Nothing was removed.")
    assert names(results) == left


def test_where_nobody_can_be_asked_yes_has_to_be_said(call, ask, results, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert call("runs", results, "--prune", "2")[::2] == (
        2,
        "Nobody can be asked whether to remove runs. Fix: add --yes.\n",
    )
    _, found = ask("runs", results, "--prune", "2", "--yes")
    assert found["removed"] == [f"{results}/r1"]
    assert [run["run"] for run in found["runs"]] == ["r3", "r2"]
    assert call("runs", results, "--prune", "2")[:2] == (0, "No run may go.\n")


def test_none_is_no_number_to_keep(call, results):
    assert call("runs", results, "--prune", "0", "--yes")[0] == 2
    assert names(results) == ["latest", "r1", "r2", "r3"]


@pytest.mark.parametrize("shown", ["r1", "latest", "deep"])
def test_a_run_that_a_link_leads_to_is_kept_and_shown(ask, call, results, tmp_path, shown):
    mine = tmp_path / "mine"
    add_host(fill(mine / "precious", "gpu-1", started="2026-11-01T01:00:00Z"), "gpu-1")
    if shown == "deep":  # the folder with the runs is a link's
        (results / "deep").symlink_to(mine)
        assert ask("runs", results, "--prune", "1", "--yes")[1]["removed"] == [
            f"{results}/r1",
            f"{results}/r2",
        ]
    else:
        link = results / "theirs"
        link.symlink_to(mine / "precious")
        _, out, _ = call("runs", results, "--prune", "1", "--yes")
        assert f"{mine}/precious is kept: a link leads to it." in out
        assert names(results) == ["latest", "r3", "theirs"]
    assert (mine / "precious/run.json").is_file()


def test_a_run_that_was_named_by_a_link_is_kept(call, results):
    link = results / "old"
    link.symlink_to("r1")
    _, out, _ = call("runs", results / "r2", results / "r3", link, "--prune", "1", "--yes")
    assert names(results) == ["latest", "old", "r1", "r3"]
    assert "r1 is kept: a link leads to it." in out
