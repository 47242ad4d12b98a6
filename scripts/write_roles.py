# SPDX-License-Identifier: Apache-2.0
"""Write the README of each role from its argument specification.

.venv/bin/python scripts/write_roles.py
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROLES = Path(__file__).parents[1] / "roles"


def readmes() -> dict[Path, str]:
    """Return the text of each README by its path."""
    return {path / "README.md": _readme(path.name) for path in sorted(ROLES.iterdir())}


def read_specification(role: str) -> dict[str, Any]:
    """Return what a role's argument specification says of its entry point."""
    text = (ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    specification: dict[str, Any] = yaml.safe_load(text)["argument_specs"]["main"]
    return specification


def _readme(role: str) -> str:
    specification = read_specification(role)
    lines = [f"# rekindle.flare.{role}", "", f"{specification['short_description']}.", ""]
    lines += [render_description(specification["description"])]
    if options := specification["options"]:
        lines += ["", *table_options(options)]
    return "\n".join([*lines, "", "`scripts/write_roles.py` writes this page."]) + "\n"


def table_options(options: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a Markdown table of a role's or an action's options."""
    rows = [f"| `{name}` | {describe_type(of)} | {describe_option(of)} |" for name, of in options.items()]
    return ["| option | type | |", "|---|---|---|", *rows]


def describe_type(option: Mapping[str, Any]) -> str:
    """Return an option's type, and its default if it has one."""
    kind = f"list of {option['elements']}" if option["type"] == "list" else option["type"]
    default = option.get("default")
    if not default:
        return kind
    return f"{kind}, default `{default if isinstance(default, str) else json.dumps(default)}`"


def describe_option(option: Mapping[str, Any]) -> str:
    """Return what an option is, with its choices."""
    text = render_description(option["description"])
    if "choices" in option:
        text += f" One of {', '.join(f'`{choice}`' for choice in option['choices'])}."
    return text


def render_description(description: str | list[str]) -> str:
    """Return a description of Ansible's with Markdown for its ``C(code)`` and ``I(option)``."""
    text = description if isinstance(description, str) else " ".join(description)
    return re.sub(r"\b[CI]\(([^)]*)\)", r"`\1`", text)


if __name__ == "__main__":
    for path, text in readmes().items():
        path.write_text(text, encoding="utf-8")
