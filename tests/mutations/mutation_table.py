"""The table of mutations: by kind, how often a lie passed, and how often a change that is none did not."""

import json
from collections import defaultdict


def by_kind(rows):
    """Return the counts of each kind: tries, PASS that should not be, not PASS that should be, and examples.

    A row has ``kind``, ``attacks``, ``benign``, ``run``, ``seed``, ``verdict``, ``cause`` and ``seen_by``.
    """
    kinds = defaultdict(list)
    for row in rows:
        kinds[row["kind"]].append(row)
    return [_counts(kind, kinds[kind]) for kind in sorted(kinds)]


def _counts(kind, rows):
    benign = rows[0]["benign"]
    false = [row for row in rows if (row["verdict"] == "PASS") is not benign]
    return {
        "kind": kind,
        "attacks": rows[0]["attacks"],
        "benign": benign,
        "runs": len({row["run"] for row in rows}),
        "tries": len(rows),
        "seen_by": sorted({name for row in rows for name in row["seen_by"]}),
        "seen_alone_by": sorted({row["seen_by"][0] for row in rows if len(row["seen_by"]) == 1}),
        "false_pass": 0 if benign else len(false),
        "false_fail": len(false) if benign else 0,
        "examples": [{name: row[name] for name in ("run", "seed", "verdict", "cause")} for row in false[:3]],
    }


def figures(rows):
    """Return the counts of all rows together."""
    kinds = by_kind(rows)
    altered = [kind for kind in kinds if not kind["benign"]]
    return {
        "kinds": len(altered),
        "altered_runs": sum(kind["tries"] for kind in altered),
        "false_pass": sum(kind["false_pass"] for kind in altered),
        "kinds_that_pass": sum(bool(kind["false_pass"]) for kind in altered),
        "benign_kinds": len(kinds) - len(altered),
        "benign_changes": sum(kind["tries"] for kind in kinds if kind["benign"]),
        "false_fail": sum(kind["false_fail"] for kind in kinds),
    }


def show(rows):
    """Return the kinds that came out wrong, and one line for all."""
    of = figures(rows)
    wrong = [kind for kind in by_kind(rows) if kind["false_pass"] or kind["false_fail"]]
    width = max((len(kind["kind"]) for kind in wrong), default=0)
    lines = []
    for kind in wrong:
        count = f"{kind['false_pass'] or kind['false_fail']} of {kind['tries']}"
        what = "false FAIL" if kind["benign"] else "false PASS"
        first = kind["examples"][0]
        cause = f": {first['cause'][:100]}" if first["cause"] else ""
        lines.append(f"{kind['kind']:{width}}  {count:>10} {what}  {first['run']}{cause}")
    lines.append(
        f"{of['altered_runs']} altered runs of {of['kinds']} kinds: {of['false_pass']} false PASS "
        f"in {of['kinds_that_pass']} kinds; {of['benign_changes']} benign changes of "
        f"{of['benign_kinds']} kinds: {of['false_fail']} false FAIL"
    )
    return "\n".join(lines) + "\n"


def write(rows, path):
    """Write figures and kinds as JSON."""
    path.parent.mkdir(exist_ok=True)
    record = {"figures": figures(rows), "kinds": by_kind(rows)}
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
