# SPDX-License-Identifier: Apache-2.0
"""Write the reference pages of the site that the code already knows; docs/conf.py does so at each build.

.venv/bin/python scripts/write_reference.py
"""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import describe_job_file
import tomllib
import yaml
from typer.testing import CliRunner
from write_roles import ROLES, describe_option, describe_type, read_specification, table_options

from rekindle.cli import schema
from rekindle.cli.main import app
from rekindle.cli.verbs import HELP
from rekindle.doctor.catalogue import load_catalogue
from rekindle.judge import CHECKS
from rekindle.solver.catalogue import list_builds, list_environments, load_rules

REPOSITORY = ROLES.parent
PACKAGE = REPOSITORY / "src" / "rekindle"
REFERENCE = REPOSITORY / "docs" / "reference"
NOTES = REFERENCE / "checks.yml"
_GROUPS = (
    ("claim", "Claims", "A job names these in the `proof` of its job.yml."),
    ("federated", "Checks of every job", "They apply to every job that NVFlare runs."),
    ("foreign", "Checks of other runs", "Only a run that Rekindle did not start gets them."),
)


def write_pages() -> None:
    """Write every page, if its text changed: Sphinx reads a changed page again."""
    for name, make in PAGES.items():
        text = make()
        path = REFERENCE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")


def settings() -> str:
    """Return the page of settings, from the argument specification of the role ``settings``."""
    lines = [
        "# Settings",
        "",
        "Set these in the inventory, in `group_vars`, or with `-e`. Every stage reads the same settings.",
        "Rekindle refuses a variable that begins with `rekindle_` and is not on this page.",
    ]
    for name, option in read_specification("settings")["options"].items():
        lines += ["", f"## {name}", "", f"*{describe_type(option)}*", "", describe_option(option)]
    return "\n".join(lines) + "\n"


def verbs() -> str:
    """Return the page of verbs, from their help."""
    lines = ["# Verbs", "", "What `rekindle VERB --help` prints."]
    for name in HELP:
        shown = CliRunner().invoke(app, [name, "--help"], prog_name="rekindle", terminal_width=96)
        if shown.exit_code:
            raise SystemExit(f"rekindle {name} --help fails: {shown.output}")
        lines += ["", f"## rekindle {name}", "", "```text", shown.output.strip(), "```"]
    return "\n".join(lines) + "\n"


def checks() -> str:
    """Return the page of checks, from the register and the notes of what breaks each."""
    notes = yaml.safe_load(NOTES.read_text(encoding="utf-8"))
    lines = [
        "# Checks and claims",
        "",
        "A check `holds`, `fails`, is `unknown` (the files do not show it) or is `not applicable`. The first",
        "sentence of each is what `rekindle judge` prints where the check holds.",
        "[How a verdict is reached](../why/verdict.md) says what follows from them.",
    ]
    left = dict(CHECKS)
    for kind, title, about in _GROUPS:
        lines += ["", f"## {title}", "", about]
        for name in [name for name, check in left.items() if kind in check.applies_to]:
            lines += _describe_check(left.pop(name).holds, name, notes.get(name) or {})
    if left:
        raise SystemExit(f"scripts/write_reference.py has no group for the checks {', '.join(left)}.")
    return "\n".join(lines) + "\n"


_NOTED = {"options": "Options: ", "more": "", "seen": "Caught in tests: ", "unseen": "Not caught: "}


def _describe_check(holds: str, name: str, note: Mapping[str, str]) -> list[str]:
    texts = [f"{label}{note[key].strip()}" for key, label in _NOTED.items() if key in note]
    return ["", f"### {name}", "", "\n\n".join([holds, *texts])]


def causes() -> str:
    """Return the page of causes that the doctor knows, from its catalogue."""
    lines = [
        "# Causes that the doctor knows",
        "",
        "`rekindle diagnose` and every verdict choose from these first. `…` is what the log says there.",
    ]
    for layer in dict.fromkeys(entry.layer for entry in load_catalogue()):
        lines += ["", f"## {layer}", "", "| cause | remedy | shown by |", "|---|---|---|"]
        for entry in (entry for entry in load_catalogue() if entry.layer == layer):
            confirm = f"`` {entry.confirm} ``" if entry.confirm else ""
            cells = (re.sub(r"\{\w+\}", "…", entry.cause), entry.remedy, re.sub(r"\{(\w+)\}", r"\1", confirm))
            lines.append(f"| {' | '.join(_escape_cell(cell) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _escape_cell(text: str) -> str:
    text = text if text.startswith("``") else re.sub(r"([<>*_\[\]{}$`~])", r"\\\1", text)
    return text.replace("|", "\\|")


def environments_page() -> str:
    """Return the page of environments, from the catalogue of builds."""
    releases = list(load_rules().nvflare.releases)
    lines = [
        "# Environments",
        "",
        f"Each environment is locked for NVFlare {', '.join(releases)}. It also has what its framework and",
        "NVFlare require. The solver chooses the version and the CUDA that fit a host;",
        "`rekindle plan` shows the choice and the reasons.",
        "",
        "| environment | versions | CUDA | packages beside its framework |",
        "|---|---|---|---|",
    ]
    for name in list_environments():
        found = [build for release in releases for build in list_builds(name, release)]
        versions = ", ".join(_sort_versions({build.version for build in found}))
        cudas = ", ".join(_sort_versions({build.cuda for build in found if build.cuda}))
        framework = {build.version for build in found}
        packages = {package for build in found for package in build.requirements if "+" not in package}
        names = {re.split(r"[=<>\[ ]", package)[0] for package in packages} - {name.partition("+")[0]}
        lines.append(f"| `{name}` | {versions if framework else ''} | {cudas} | {', '.join(sorted(names))} |")
    return "\n".join(lines) + "\n"


def _sort_versions(versions: Iterable[str]) -> list[str]:
    return sorted(versions, key=lambda text: [int(part) for part in re.findall(r"\d+", text)], reverse=True)


def roles() -> str:
    """Return the page of roles and actions, from Ansible's own documentation of the collection."""
    lines = [
        "# Roles, actions and lookups",
        "",
        "The collection is `rekindle.flare`. Only its role `settings` has options: [settings](settings.md).",
        "",
        "## Roles",
    ]
    for name, entry in _ask_ansible("role", [path.name for path in sorted(ROLES.iterdir())]).items():
        main = entry["entry_points"]["main"]
        lines += ["", f"### {name}", "", f"{main['short_description']}.", "", _join(main["description"])]
    for kind, title in (("module", "Actions"), ("lookup", "Lookups"), ("callback", "Callbacks")):
        folder = "action" if kind == "module" else kind
        names = sorted(path.stem for path in REPOSITORY.glob(f"plugins/{folder}/*.py"))
        lines += ["", f"## {title}"]
        for name, entry in _ask_ansible(kind, names).items():
            doc = entry["doc"]
            lines += [
                "",
                f"### {name} ({kind})",
                "",
                f"{doc['short_description']}.",
                "",
                _join(doc["description"]),
            ]
            typed = {
                key: {"type": "str", **of} for key, of in doc.get("options", {}).items() if key[0] != "_"
            }
            lines += ["", *table_options(typed)] if typed else []
    return "\n".join(lines) + "\n"


def rooms() -> str:
    """Return the page of rooms: the folders of the import contract, and what each says of itself."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [
        "# Rooms",
        "",
        "The folders of `src/rekindle/`, from top to bottom. A room imports only from rooms below its line.",
        "[Design](../why/design.md) says how they work together.",
        "",
        "| room | what it is |",
        "|---|---|",
    ]
    for layer in project["tool"]["importlinter"]["contracts"][0]["layers"]:
        for name in layer.split(" | "):
            if not (PACKAGE / name).is_dir():
                continue
            text = ast.get_docstring(ast.parse((PACKAGE / name / "__init__.py").read_text(encoding="utf-8")))
            first, *_ = str(text).split("\n\n")
            lines.append(f"| `{name}/` | {describe_job_file.render_docstring(first)} |")
    return "\n".join(lines) + "\n"


def _join(description: str | list[str]) -> str:
    return describe_option({"description": description})


def _ask_ansible(kind: str, names: list[str]) -> dict[str, Any]:
    full = [f"rekindle.flare.{name}" for name in names]
    command = [str(Path(sys.executable).with_name("ansible-doc")), "--type", kind, "--json", *full]
    environ = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    if found.keys() != set(full):
        raise SystemExit(f"ansible-doc knows no {kind} {', '.join(sorted(set(full) - found.keys()))}.")
    return found


def json_schemas() -> str:
    """Return the page of JSON schemas; each schema lies beside it."""
    lines = [
        "# JSON",
        "",
        "Every verb answers in JSON with `--json`. `rekindle schema VERB` prints the schema of its answer.",
        '`results.json` has the schema of `report`. A refusal is JSON too: `{"schema": "rekindle/refusal/1",',
        '"message": …, "fix": …}`, beside the sentence on standard error.',
        "",
        "| verb | answer | schema |",
        "|---|---|---|",
    ]
    for name in (name for name in HELP if name != "schema"):
        text = schema.run(name).text
        named = dict.fromkeys(re.findall(r'"(rekindle/[\w-]+/\d+)"', text))
        path = REFERENCE / "schemas" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
        link = f"{{download}}`{name}.json <schemas/{name}.json>`"
        lines.append(f"| `{name}` | {', '.join(f'`{one}`' for one in named)} | {link} |")
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings,
    "verbs.md": verbs,
    "job-file.md": describe_job_file.render_page,
    "checks.md": checks,
    "causes.md": causes,
    "environments.md": environments_page,
    "roles.md": roles,
    "rooms.md": rooms,
    "json.md": json_schemas,
}
"""Each page that is made, by its file under docs/reference/."""


if __name__ == "__main__":
    write_pages()
