# SPDX-License-Identifier: Apache-2.0
"""How often the doctor is right on field logs at first sight, by how much doubt it bears, and by what signs.

    python benchmarks/doctor.py           # the controller's Python, in a checkout with its history

Each set of tests/unit/doctor/field is diagnosed by today's code, with what the doctor knew (subjects,
producers, codes, catalogue) before the set was there: nobody had read it then. What is held back of it is
counted apart: today's code was not chosen on it either. Sets before the fourth are left out: what was known
had another schema.
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
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"),
    *("eighteenth", "nineteenth", "twentieth", "twentyfirst"),
)
DOUBTS = (0, 1, 2, 9)
_COUNT = """\
import json, sys
from collections import Counter
from field_logs import failures, found, outcome, root
from rekindle.doctor import typed
counts = {}
of_set = [one for one in failures() if one.file == sys.argv[1]]
seen = [one for one in of_set if not one.held]
for typed.DOUBTS in json.loads(sys.argv[2]):
    found.cache_clear()
    counts[typed.DOUBTS] = Counter(map(outcome, seen))
    counts[f"held back, {typed.DOUBTS} doubts at most"] = Counter(outcome(one) for one in of_set if one.held)
last = []
doubts = typed._doubts
typed._doubts = lambda one, ranked: last.append((one, ranked)) or doubts(one, ranked)
def signs(failure, finding):
    if not last or not finding.name.endswith(("_error", "exception")):
        return ["an entry of the catalogue"]
    one, ranked = last[-1]
    causes = [other for other in ranked if other.rank in ("cause", "symptom")]
    lines = failure.log.count(chr(10))
    return [
        "an exception" if one.name else "a line",
        "words that say little" if one.doubts >= 3 else f"{min(one.doubts, 2)} signs in its words",
        "other words for its layer" if one.agrees else "no other words for its layer",
        "only a symptom" if one.rank != "cause" else "a cause",
        "an error before it" if any(other.number < one.number for other in causes) else "the first error",
        f"{min(len(causes), 4)} lines that report errors" + " or more" * (len(causes) > 3),
        "in the last third" if one.number > lines * 2 / 3 else "in the first two thirds",
        f"layer {one.layer}",
    ]
for failure in seen:
    last.clear()
    found.cache_clear()
    finding = root(failure.log)
    told = finding and ["the cause told" if failure.told(finding) else "another cause told"]
    for sign in told + signs(failure, finding) if finding else []:
        counts.setdefault(sign, Counter())[outcome(failure)] += 1
print(json.dumps(counts))
"""


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout


def _readable(inside: Path, known: str) -> str:
    """Return what was ``known``, without the tables of producers that today's code has not."""
    if inside.name != "producers.json":
        return known
    today = json.loads((ROOT / DOCTOR / inside).read_text(encoding="utf-8"))
    return json.dumps({table: names for table, names in json.loads(known).items() if table in today})


def at_first_sight(file: str) -> dict[str, dict[str, int]]:
    """Return outcomes of a set's logs, by how many doubts are borne; with any borne, by the signs too."""
    added = _git("log", "--diff-filter=A", "--format=%H", "--", str(FIELD / file)).split()[-1]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src" / "rekindle", Path(folder) / "rekindle")
        shutil.rmtree(Path(folder) / "rekindle" / "doctor" / "catalogue")
        for path in _git("ls-tree", "-r", "--name-only", f"{added}^", str(DOCTOR)).splitlines():
            inside = Path(path).relative_to(DOCTOR)
            if inside.parts[0] in KNOWN:
                copy = Path(folder) / "rekindle" / "doctor" / inside
                copy.parent.mkdir(exist_ok=True)
                copy.write_text(_readable(inside, _git("show", f"{added}^:{path}")), encoding="utf-8")
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
        by = f"{doubts} doubts at most" if doubts.isdigit() else doubts
        print(f"{count.total()} logs, {by}: {shares}")


if __name__ == "__main__":
    main()
