# SPDX-License-Identifier: Apache-2.0
"""Pages of docs/ say what the files say that they were made of, and README is what one sitting takes."""

import re
from pathlib import Path

import pytest
import write_schema
import write_settings

REPOSITORY = Path(__file__).parents[3]
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
]


def test_settings_and_roles_have_the_pages_of_their_specifications():
    assert {path: path.read_text() for path in write_settings.pages()} == write_settings.pages()


def test_a_setting_that_was_added_is_missed_on_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(write_settings, "ROLES", tmp_path)
    path = tmp_path / "settings/meta/argument_specs.yml"
    path.parent.mkdir(parents=True)
    specified = (REPOSITORY / "roles/settings/meta/argument_specs.yml").read_text()
    path.write_text(specified + "      more: {description: More., type: str}\n")
    page = REPOSITORY / "docs/settings.md"
    assert write_settings.pages()[page] != page.read_text()


def test_the_schema_of_results_is_that_of_their_records():
    assert write_schema.PAGE.read_text() == write_schema.text()


def test_readme_is_short():
    lines = (REPOSITORY / "README.md").read_text().splitlines()
    assert len(lines) <= 130
    assert [line for line in lines if len(line) > 110] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page):
    linked = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    assert [target for target in linked if not (page.parent / target).exists()] == []
