# SPDX-License-Identifier: Apache-2.0
"""Pages name what is there, README is short, and generated texts are those of their sources."""

import re
from pathlib import Path

import pytest
import write_pictures
import write_reference
import write_roles
import yaml
from typer.main import get_command

from rekindle.cli.main import app
from rekindle.cli.verbs import HELP, load_verb
from rekindle.judge import CHECKS

REPOSITORY = Path(__file__).parents[3]
PACKAGE = REPOSITORY / "src" / "rekindle"
WRITTEN = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "AGENTS.md", "contrib/README.md")),
    *sorted((REPOSITORY / "benchmarks").glob("*.md")),
    *sorted(path for path in (REPOSITORY / "docs").glob("*/*.md") if path.name not in write_reference.PAGES),
    REPOSITORY / "docs/index.md",
]
SETTINGS = write_roles.read_specification("settings")["options"].keys()
TARGETS = set(re.findall(r"^([a-z][\w-]*):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
MADE = ("results/", ".venv/", "docs/_build/")
FIRST = {path.name for folder in (REPOSITORY, PACKAGE) for path in folder.iterdir() if path.is_dir()}


def code_of(text):
    """Return what a page has as code: blocks that are indented or fenced, and spans."""
    fenced = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^    .+$", text, re.MULTILINE)
    return [*fenced, *indented, *re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", text)]


def missing(text):
    """Return the paths, make targets, settings, verbs and options that a page names and nothing has."""
    found = [
        f"`{name}` is no setting"
        for name in re.findall(r"\brekindle_[a-z_]+\b", text)
        if name not in SETTINGS
    ]
    for code in code_of(text):
        found += [f"{word} is no file" for word in code.split() if is_path(word) and not exists(word)]
        found += [
            f"{name} is no target of make"
            for name in re.findall(r"\bmake ([a-z][\w-]*)", code)
            if name not in TARGETS
        ]
        for line in code.splitlines():
            if call := re.search(r"(?:^|[\s;|])rekindle ([a-z]+)\b(.*)", line):
                found += wrong_call(*call.groups())
    return found


def is_path(word):
    """Return whether a word is a path of the repository, or of its package, that is no pattern of ours."""
    first, slash, _ = word.partition("/")
    return (
        bool(slash) and first in FIRST and not word.startswith(MADE) and not re.search(r"[<{…$=:]|NAME", word)
    )


def exists(word):
    return any([*folder.glob(word.rstrip("/,.);"))] for folder in (REPOSITORY, PACKAGE))


def wrong_call(verb, rest):
    if verb not in HELP:
        return [f"rekindle {verb} is no verb"]
    context = get_command(app).make_context("rekindle", [verb, "--help"], resilient_parsing=True)
    known = {"--help", *(option for param in command(context, verb).params for option in param.opts)}
    options = re.findall(r"(?<!\S)(--[a-z-]+)", rest.split("  #")[0])
    return [
        f"rekindle {verb} {option} is no option"
        for option in options
        if option not in known and not load_verb(verb).passes_on
    ]


def command(context, verb):
    return context.command.resolve_command(context, [verb])[1]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_what_a_page_names_is_there(page):
    assert missing(page.read_text()) == []


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("`roles/nothing/`", "roles/nothing/ is no file"),
        ("`judge/nothing.py`", "judge/nothing.py is no file"),
        ("`make tea`", "tea is no target of make"),
        ("set rekindle_nothing", "`rekindle_nothing` is no setting"),
        ("    rekindle guess results", "rekindle guess is no verb"),
        ("`rekindle judge --guess results`", "rekindle judge --guess is no option"),
    ],
)
def test_what_is_not_there_is_missed(named, why):
    assert missing(f"# A page\n\n{named}\n") == [why]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_what_a_page_links_to_is_there(page):
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    made = {REPOSITORY / "docs" / "reference" / name for name in write_reference.PAGES}
    targets = {target: (page.parent / target).resolve() for target in linked}
    assert [target for target, path in targets.items() if not path.exists() and path not in made] == []


def test_roles_have_the_readmes_of_their_specifications():
    assert {path: path.read_text() for path in write_roles.readmes()} == write_roles.readmes()


def test_a_setting_that_was_added_is_missed_in_a_readme(tmp_path, monkeypatch):
    path = tmp_path / "settings/meta/argument_specs.yml"
    path.parent.mkdir(parents=True)
    specified = (REPOSITORY / "roles/settings/meta/argument_specs.yml").read_text()
    path.write_text(specified + "      more: {description: More., type: str}\n")
    monkeypatch.setattr(write_roles, "ROLES", tmp_path)
    readme = (REPOSITORY / "roles/settings/README.md").read_text()
    assert write_roles.readmes()[tmp_path / "settings/README.md"] != readme


def test_every_check_has_a_note_of_what_breaks_it_and_no_other():
    assert yaml.safe_load(write_reference.NOTES.read_text()).keys() == CHECKS.keys()


def test_the_reference_has_every_setting_verb_and_check():
    settings, verbs, checks = write_reference.settings(), write_reference.verbs(), write_reference.checks()
    assert re.findall(r"^## (\w+)$", settings, re.MULTILINE) == [*SETTINGS]
    assert re.findall(r"^## rekindle (\w+)$", verbs, re.MULTILINE) == [*HELP]
    assert sorted(re.findall(r"^### (\w+)$", checks, re.MULTILINE)) == sorted(CHECKS)


def test_every_page_of_the_reference_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(write_reference, "REFERENCE", tmp_path)
    write_reference.write_pages()
    assert {path.name for path in tmp_path.glob("*.md")} == write_reference.PAGES.keys()


def test_the_page_of_rooms_names_every_folder_and_no_other():
    rooms = re.findall(r"^\| `(\w+)/` \|", write_reference.rooms(), re.MULTILINE)
    assert sorted(rooms) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def test_readme_is_short():
    lines = (REPOSITORY / "README.md").read_text().splitlines()
    assert len(lines) <= 90
    assert [line for line in lines if len(line) > 120] == []


def test_the_pictures_of_readme_are_there_and_load_quickly():
    named = re.findall(r'src(?:set)?="([^"]+)"', (REPOSITORY / "README.md").read_text())
    assert len(named) == 4
    assert [name for name in named if (REPOSITORY / name).stat().st_size > write_pictures.LIMIT] == []


def test_written_pages_stay_below_what_somebody_reads():
    written = [path for path in WRITTEN if path.is_relative_to(REPOSITORY / "docs")]
    pages = [*written, REPOSITORY / "README.md", write_reference.NOTES]
    assert sum(path.stat().st_size for path in pages) <= 110_000
