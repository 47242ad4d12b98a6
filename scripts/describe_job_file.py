# SPDX-License-Identifier: Apache-2.0
"""The site's page of job.yml, from its schema and the texts beside its fields in the code."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rekindle.records import job

_NULL = {"type": "null"}


def render_page() -> str:
    """Return the page of job.yml, from its schema and the texts beside its fields."""
    texts = _read_field_texts(Path(job.__file__))
    _, parts = msgspec.json.schema_components([job.Job])
    lines = [
        "# job.yml",
        "",
        "Every line may be left out for a job of your own: Rekindle reads the rest in the job's files, and",
        "`rekindle job FOLDER` shows it. [Your own job](../howto/own-job.md) has the common lines.",
    ]
    titles = {"Job": "job.yml"}
    for name, title in _walk(titles, parts):
        lines += ["", f"({name})=", "", f"## {title}", "", "| key | type | |", "|---|---|---|"]
        for key, value in parts[name]["properties"].items():
            if not (text := texts[name].get(key) or ("As in `example`." if name == "Variant" else "")):
                raise SystemExit(f"{job.__file__} has no text under {name}.{key}. Fix: write one.")
            lines.append(f"| `{key}` | {_describe_schema(value)} | {text} |")
    return "\n".join(lines) + "\n"


def _walk(titles: dict[str, str], parts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each record that job.yml has, with the keys that lead to it; ``titles`` has the first one."""
    waiting = [*titles]
    while waiting:
        name = waiting.pop(0)
        yield name, titles[name]
        for key, value in parts[name]["properties"].items():
            for of in re.findall(r"#/\$defs/(\w+)", json.dumps(value)):
                if of not in titles and "properties" in parts[of]:
                    titles[of] = key if name == "Job" else f"{titles[name]}.{key}"
                    waiting.append(of)


def _read_field_texts(path: Path) -> dict[str, dict[str, str]]:
    """Return the text under each field of each record, by class and by the field's name in JSON."""
    found: dict[str, dict[str, str]] = {}
    for record in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(record, ast.ClassDef):
            continue
        fields = found.setdefault(record.name, {})
        for field, after in zip(record.body, record.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                text = after.value.value if is_text else ""  # type: ignore[attr-defined]
                fields[field.target.id.rstrip("_")] = render_docstring(str(text))
    return found


def render_docstring(text: str) -> str:
    """Return a text of the code as Markdown on one line."""
    text = " ".join(text.split())
    return re.sub(r"`(?:Job\.)?(\w+)`(?!`)", r"`\1`", text.replace("``", "`"))


def _describe_schema(value: Mapping[str, Any]) -> str:
    """Return the type of a field in words."""
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(_describe_schema(part) for part in value["anyOf"] if part != _NULL))
    if "enum" in value:
        return ", ".join(f"`{choice}`" for choice in value["enum"])
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name.lower()}](#{name})"
    kind = value.get("type", "any value")
    if kind == "array":
        return f"list of {_describe_schema(value.get('items', {}))}"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "map"}
    return words.get(kind, str(kind))
