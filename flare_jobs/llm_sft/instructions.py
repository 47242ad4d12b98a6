# SPDX-License-Identifier: Apache-2.0
"""Instructions to learn from: JSON lines with prompt and completion, of the user's or generated."""

from __future__ import annotations

import json
import random
from pathlib import Path

WORDS = """
apple bridge candle desert engine forest garden harbor island jacket kitchen ladder market needle orange
pencil quarter river silver table umbrella village window yellow zebra anchor basket cotton dragon feather
guitar hammer insect jungle kettle lemon mirror novel ocean paper
""".split()  # noqa: SIM905 - clearer than a list of forty lines


def generate(folder: Path, site: str, training: int = 768, validation: int = 64) -> None:
    """Write ``<folder>/<site>/training.jsonl`` and ``validation.jsonl``, the same for the same site."""
    chance = random.Random(site)
    (folder / site).mkdir(parents=True, exist_ok=True)
    for name, count in (("training", training), ("validation", validation)):
        lines = (json.dumps(_example(chance)) for _ in range(count))
        (folder / site / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _example(chance: random.Random) -> dict[str, str]:
    word, other, number = chance.choice(WORDS), chance.choice(WORDS), chance.randrange(1, 100)
    prompt, completion = chance.choice(
        [
            (f"Write {word} in capital letters.", word.upper()),
            (f"Spell {word} with dashes.", "-".join(word)),
            (f"Repeat {word} three times.", " ".join([word] * 3)),
            (f"Swap {word} and {other}.", f"{other} and {word}"),
            (f"What comes after {number}?", str(number + 1)),
            (f"Is {number} even or odd?", "odd" if number % 2 else "even"),
        ]
    )
    return {"prompt": f"{prompt}\n", "completion": completion}


def files(folder: Path, site: str) -> dict[str, str]:
    """Return the files of ``site``, as ``datasets.load_dataset("json", data_files=…)`` takes them.

    Raises:
        SystemExit: one is missing.
    """
    found = {name: folder / site / f"{name}.jsonl" for name in ("training", "validation")}
    for path in found.values():
        if not path.is_file():
            raise SystemExit(
                f"{path} is missing. Fix: give each of --client_ids a folder of its name in --data_path, "
                "with training.jsonl and validation.jsonl (a prompt and a completion a line)."
            )
    return {name: str(path) for name, path in found.items()}


def texts(data_files: dict[str, str]) -> list[str]:
    """Return every prompt and completion to train on."""
    lines = Path(data_files["training"]).read_text(encoding="utf-8").splitlines()
    return [text for line in lines for text in json.loads(line).values()]
