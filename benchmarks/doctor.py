"""How often the doctor is right on field logs at first sight, by how much doubt it bears.

    python benchmarks/doctor.py           # the controller's Python, in a checkout with its history

Of each set of tests/unit/doctor/field what is not held back is diagnosed by today's code, with what the
doctor knew (subjects, producers, codes, catalogue) before the set was there: nobody had read it then. Sets
before the fourth are left out: what was known had another schema.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIELD = Path("tests/unit/doctor/field")
DOCTOR = Path("src/rekindle/doctor")
KNOWN = ("subjects.json", "producers.json", "codes.json", "catalogue")
SETS = (
    *("fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth"),
)
DOUBTS = (0, 1, 2, 9)
_COUNT = """\
import json, sys
from collections import Counter
from field_logs import failures, outcome
from rekindle.doctor import typed
counts = {}
for typed.DOUBTS in json.loads(sys.argv[2]):
    of_set = (one for one in failures() if one.file == sys.argv[1] and not one.held)
    counts[typed.DOUBTS] = Counter(map(outcome, of_set))
print(json.dumps(counts))
"""


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout


def at_first_sight(file: str) -> dict[str, dict[str, int]]:
    """Return outcomes of a set's logs, by how many doubts are borne."""
    added = _git("log", "--diff-filter=A", "--format=%H", "--", str(FIELD / file)).split()[-1]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src" / "rekindle", Path(folder) / "rekindle")
        shutil.rmtree(Path(folder) / "rekindle" / "doctor" / "catalogue")
        for path in _git("ls-tree", "-r", "--name-only", f"{added}^", str(DOCTOR)).splitlines():
            inside = Path(path).relative_to(DOCTOR)
            if inside.parts[0] in KNOWN:
                copy = Path(folder) / "rekindle" / "doctor" / inside
                copy.parent.mkdir(exist_ok=True)
                copy.write_text(_git("show", f"{added}^:{path}"), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT / 'tests' / 'unit'}"}
        words = [sys.executable, "-c", _COUNT, file, json.dumps(DOUBTS)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    counts: dict[str, dict[str, int]] = json.loads(done.stdout)
    return counts


def main() -> None:
    """Print a table."""
    total: dict[str, Counter[str]] = {}
    for name in SETS:
        for doubts, count in at_first_sight(f"{name}_failures.txt").items():
            total.setdefault(doubts, Counter()).update(count)
    for doubts, count in total.items():
        shares = ", ".join(
            f"{kind} {count[kind] / count.total():.1%}" for kind in ("right", "wrong", "silent")
        )
        print(f"{count.total()} logs, {doubts} doubts at most: {shares}")


if __name__ == "__main__":
    main()
