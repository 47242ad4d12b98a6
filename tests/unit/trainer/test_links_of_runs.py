# SPDX-License-Identifier: Apache-2.0
"""What was simulated is also found where the job asked for it, until the job ends."""

from unittest.mock import Mock

import pytest

from rekindle.trainer import links


def made(root, name="hello"):
    """Return a folder of a simulation below the run's own."""
    folder = root / name
    folder.mkdir()
    return folder


def test_what_a_simulation_left_is_found_where_it_was_chosen_until_the_end(root, tmp_path):
    chosen = tmp_path / "chosen/by/hello"
    for folder in (made(root), made(root, "hello-2")):
        links.link_chosen(chosen, folder)
        assert chosen.resolve() == folder
    links.remove_links()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert sorted(path.name for path in root.iterdir()) == ["hello", "hello-2"]


def test_a_folder_that_is_there_is_emptied_as_by_nvflare(root, tmp_path):
    chosen = tmp_path / "chosen/by/hello"
    (chosen / "of an earlier run").mkdir(parents=True)
    links.link_chosen(chosen, made(root))
    assert chosen.resolve() == root / "hello"


def test_a_folder_that_has_something_else_at_the_end_stays(root, tmp_path):
    links.link_chosen(tmp_path / "chosen/by/hello", made(root))
    (tmp_path / "chosen/notes").write_text("theirs")
    links.remove_links()
    assert [path.name for path in (tmp_path / "chosen").iterdir()] == ["notes"]


@pytest.mark.parametrize("shares", [True, False])
def test_after_a_simulation_its_files_are_in_folders_that_every_search_walks(
    root, tmp_path, monkeypatch, shares
):
    if not shares:
        monkeypatch.setattr(links.os, "link", Mock(side_effect=OSError))
    folder, chosen = made(root), tmp_path / "chosen/hello"
    (folder / "server").mkdir()
    (folder / "server/model.pt").write_text("a model")
    links.link_chosen(chosen, folder)
    links.replace_link(chosen)
    assert [path.read_text() for path in (tmp_path / "chosen").rglob("*.pt")] == ["a model"]
    (chosen / "server/model.pt").unlink()
    (chosen / "plots").mkdir()
    (chosen / "plots/loss.png").write_text("a plot")
    links.remove_links()
    assert not (tmp_path / "chosen").exists()
    found = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.*")}
    assert found == {"server/model.pt": "a model", "plots/loss.png": "a plot"}


def test_a_link_of_somebody_else_stays_one(root, tmp_path):
    (tmp_path / "theirs").symlink_to(root)
    links.replace_link(tmp_path / "theirs")
    assert (tmp_path / "theirs").is_symlink()


@pytest.mark.parametrize("below", ["run/job/workspace/hello", "run/job/workspace", "run/job"])
def test_nothing_leads_to_the_runs_own_workspace_from_itself(root, tmp_path, below):
    folder = made(root)
    links.link_chosen(tmp_path / below, folder)
    assert folder.is_dir()
    assert not folder.is_symlink()
    links.remove_links()


def test_a_place_where_this_user_may_not_write_is_left_alone(root, tmp_path):
    (tmp_path / "file").write_text("theirs")
    links.link_chosen(tmp_path / "file/hello", made(root))
    links.remove_links()
    assert (tmp_path / "file").read_text() == "theirs"


def test_a_run_that_simulated_nothing_elsewhere_has_none(root):
    links.remove_links()
