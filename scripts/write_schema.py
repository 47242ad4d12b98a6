# SPDX-License-Identifier: Apache-2.0
"""Write docs/results.schema.json, the JSON schema of results.json, from its records.

.venv/bin/python scripts/write_schema.py
"""

from pathlib import Path

from rekindle.cli import schema

PAGE = Path(__file__).parents[1] / "docs" / "results.schema.json"


def text() -> str:
    """Return the page's text, which is what ``rekindle schema report`` prints."""
    return f"{schema.run('report').text}\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
