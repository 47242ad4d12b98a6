"""Write docs/doctor.md: how often the doctor is right on failures of the field, by layer.

Usage: PYTHONPATH=src:tests/unit python tests/unit/write_doctor.py
"""

from collections import Counter
from pathlib import Path

from field_logs import failures, healthy, outcome, root

DOCS = Path(__file__).parents[2] / "docs" / "doctor.md"
TEXT = """\
# The doctor

`rekindle diagnose` names the cause of a failure in any log: first by the catalogue of known failures
(`doctor/catalogue/`), else by the lines that report an error themselves. Their shapes
(`shapes.json`), what their words are about (`subjects.json`) and who printed them (`producers.json`)
give the layer, whether they are a cause, a symptom or an echo, and a remedy. What the log goes on
after, or tries again with success, is no cause, unless the run is known to have failed. Of a chain of
exceptions the first that says what goes wrong is the cause. A cause that only quotes a line is never certain.

On logs of `tests/unit/doctor/field/`, written anew in the words of many tools and labelled before they were
diagnosed; `make doctor` writes this table. The authors of the entries wrote these logs too. At first sight
24 of 30, 20 of 30, 45 of 64, 28 of 45, 24 of 38, 21 of 30 and 22 of 24 were right, of the second to the
eighth set; of the ninth to the twelfth 53 of 79, 39 of 46, 27 of 40 and 19 of 30: of logs of your own expect
about seven in ten. Of the first, fourth, fifth, sixth and ninth set one
half is held back from whoever mends the doctor; all others were looked at.

| layer | failures | right | wrong | silent |
|---|---|---|---|---|
{rows}

Of {healthy} logs of good runs that alarm, {alarms} are diagnosed.
"""


def main() -> None:
    """Diagnose all, and write the table."""
    by_layer: dict[str, Counter[str]] = {}
    for failure in failures():
        half = "held back, all layers" if failure.held else "looked at, all layers"
        for name in (failure.layers[0], half):
            by_layer.setdefault(name, Counter())[outcome(failure)] += 1
    rows = [
        f"| {name} | {count.total()} | {count['right']} | {count['wrong']} | {count['silent']} |"
        for name, count in sorted(by_layer.items(), key=lambda pair: (", all" in pair[0], pair[0].lower()))
    ]
    alarms = sum(root(log) is not None for _, log in healthy())
    DOCS.write_text(TEXT.format(rows="\n".join(rows), healthy=len(healthy()), alarms=alarms or "none"))
    print("\n".join(rows))


if __name__ == "__main__":
    main()
