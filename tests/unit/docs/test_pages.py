"""Pages of docs/ say what the files say that they were made of, and README is what one sitting takes."""

import re
from pathlib import Path

import pytest
import write_settings

REPOSITORY = Path(__file__).parents[3]
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
]


def test_the_settings_page_is_that_of_the_role():
    assert write_settings.PAGE.read_text() == write_settings.page()


def test_a_setting_that_was_added_is_missed_on_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(write_settings, "REPOSITORY", tmp_path)
    specs = tmp_path / "specs.yml"
    specs.write_text(write_settings.SPECS.read_text() + "      more: {description: More., type: str}\n")
    assert write_settings.PAGE.read_text() != write_settings.page(specs)


def test_readme_is_short():
    lines = (REPOSITORY / "README.md").read_text().splitlines()
    assert len(lines) <= 130
    assert [line for line in lines if len(line) > 110] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page):
    linked = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    assert [target for target in linked if not (page.parent / target).exists()] == []
