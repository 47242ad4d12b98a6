# SPDX-License-Identifier: Apache-2.0
"""How often the doctor is right on failures of the field, as a reader would count it.

    make doctor           # PYTHONPATH=src:tests python benchmarks/doctor.py

Right: the layer and, where the label has it, the kind of remedy are right. Half: the layer is right and the
line is quoted, but the remedy says little; or no cause is named and the timeline has the line. Labels were
written before the log was run. What is only possible says so, and begins with reading the line.
"""

from collections import Counter

from samples.field_logs import failures, grade, healthy, root

GRADES = ("right", "half", "wrong", "silent")


def main() -> None:
    """Print a table by layer, by half, and of the newest set, whose labels have remedies."""
    counts: dict[str, Counter[str]] = {}
    for failure in failures():
        half = "held back" if failure.held else "looked at"
        finding = root(failure.log)
        sure = "only possible" if finding and finding.confidence == "possible" else "said as sure"
        for name in (
            failure.layers[0],
            half,
            *([f"{sure}, {half}"] if finding else []),
            *([f"with a remedy's label, {half}"] if failure.remedy else []),
        ):
            counts.setdefault(name, Counter())[grade(failure)] += 1
    print("| | failures | right | half | wrong | silent |\n|---|---|---|---|---|---|")
    for name, count in counts.items():
        shares = " | ".join(f"{count[one]} ({count[one] / count.total():.0%})" for one in GRADES)
        print(f"| {name} | {count.total()} | {shares} |")
    alarms = sum(root(log) is not None for _, log in healthy())
    print(f"\nOf {len(healthy())} logs of good runs that alarm, {alarms} are diagnosed.")


if __name__ == "__main__":
    main()
