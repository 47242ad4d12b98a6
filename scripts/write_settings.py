"""Write docs/settings.md anew from what the role settings declares.

.venv/bin/python scripts/write_settings.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[1]
SPECS = REPOSITORY / "roles" / "settings" / "meta" / "argument_specs.yml"
PAGE = REPOSITORY / "docs" / "settings.md"


def page(specs: Path = SPECS) -> str:
    """Return the settings as Markdown: each with its type, its default and what it does."""
    inventory = yaml.safe_load(specs.read_text(encoding="utf-8"))["argument_specs"]["inventory"]
    lines = [
        "# Settings",
        "",
        *(_marked(text) for text in inventory["description"]),
        "",
        f"`scripts/write_settings.py` writes this page from `{specs.relative_to(REPOSITORY).as_posix()}`.",
        "",
        "| setting | type | default | |",
        "|---|---|---|---|",
        *(_row(name, option) for name, option in inventory["options"].items()),
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, option: dict[str, Any]) -> str:
    kind = f"list of {option['elements']}" if option["type"] == "list" else option["type"]
    default = option.get("default")
    shown = f"`{json.dumps(default) if not isinstance(default, str) else default}`" if default else ""
    said = option["description"]
    says = " ".join([said] if isinstance(said, str) else said)
    if "choices" in option:
        says += f" One of {', '.join(f'`{choice}`' for choice in option['choices'])}."
    return f"| `{name}` | {kind} | {shown} | {_marked(says)} |"


def _marked(text: str) -> str:
    """Return Ansible's markup, ``C(code)`` and ``I(option)``, as Markdown's."""
    return re.sub(r"\b[CI]\(([^)]*)\)", r"`\1`", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
