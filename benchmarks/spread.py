# SPDX-License-Identifier: Apache-2.0
"""How far figures of acceptance lie apart between runs on the same hosts.

    .venv/bin/python benchmarks/spread.py results/RUN…

First looks alone count. A spread is the distance from the smallest to the largest, as a share of the largest.
For each measurement and size it is the least and the most of all GPUs and pairs.
"""

import sys
from collections import defaultdict
from pathlib import Path

from rekindle.records import AcceptanceRecord, read_record


def main() -> None:
    """Print one table."""
    paths = [path for folder in sys.argv[1:] for path in sorted(Path(folder).glob("*/acceptance.json"))]
    if not paths:
        raise SystemExit("No acceptance.json is there. Fix: name folders of results with accepted hosts.")
    figures: dict[tuple[str, int | None], dict[tuple[str | None, ...], list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in (read_record(path, AcceptanceRecord) for path in paths):
        for figure in record.measurements:
            if figure.value:
                where = (record.host, figure.gpu, figure.peer)
                figures[figure.name, figure.size][where].append(figure.value)
    print(f"{'measurement':28}{'bytes':>12}{'least':>8}{'most':>8}")
    for (name, size), by_place in figures.items():
        spreads = [1 - min(values) / max(values) for values in by_place.values()]
        print(f"{name:28}{size or '':>12}{min(spreads):8.1%}{max(spreads):8.1%}")


if __name__ == "__main__":
    main()
