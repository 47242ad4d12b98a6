# SPDX-License-Identifier: Apache-2.0
"""Write docs/settings.md and the README of each role from the roles' argument specifications.

.venv/bin/python scripts/write_settings.py
"""

import json
import re
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[1]
ROLES = REPOSITORY / "roles"


def pages() -> dict[Path, str]:
    """Return the text of each page by its path."""
    texts = {REPOSITORY / "docs" / "settings.md": _page("Settings", _specification("settings"))}
    for role in sorted(path.name for path in ROLES.iterdir()):
        texts[ROLES / role / "README.md"] = _page(f"rekindle.flare.{role}", _specification(role))
    return texts


def _specification(role: str) -> dict[str, Any]:
    text = (ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    specification: dict[str, Any] = yaml.safe_load(text)["argument_specs"]["main"]
    return specification


def _page(title: str, specification: dict[str, Any]) -> str:
    lines = [f"# {title}", "", f"{specification['short_description']}.", ""]
    lines += [_marked(text) for text in specification["description"]]
    if options := specification["options"]:
        lines += ["", "| setting | type | default | |", "|---|---|---|---|"]
        lines += [_row(name, option) for name, option in options.items()]
    return "\n".join([*lines, "", "`scripts/write_settings.py` writes this page."]) + "\n"


def _row(name: str, option: dict[str, Any]) -> str:
    kind = f"list of {option['elements']}" if option["type"] == "list" else option["type"]
    default = option.get("default")
    shown = f"`{json.dumps(default) if not isinstance(default, str) else default}`" if default else ""
    description = option["description"]
    text = " ".join([description] if isinstance(description, str) else description)
    if "choices" in option:
        text += f" One of {', '.join(f'`{choice}`' for choice in option['choices'])}."
    return f"| `{name}` | {kind} | {shown} | {_marked(text)} |"


def _marked(text: str) -> str:
    """Return Ansible's markup, ``C(code)`` and ``I(option)``, as Markdown's."""
    return re.sub(r"\b[CI]\(([^)]*)\)", r"`\1`", text)


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
