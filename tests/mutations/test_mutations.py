"""No contradiction that is put into a recorded run passes, and no change that is none keeps one from it."""

from random import Random

import benign_changes  # noqa: F401
import benign_logs  # noqa: F401
import field_table  # noqa: F401
import lies_in_figures  # noqa: F401
import lies_in_files  # noqa: F401
import lies_in_logs  # noqa: F401
import lies_in_models  # noqa: F401
import lies_in_samples  # noqa: F401
import lies_in_times  # noqa: F401
import lies_in_whole_logs  # noqa: F401
import lies_of_ranks  # noqa: F401
import lies_of_spec_2  # noqa: F401
import lies_of_whole_runs  # noqa: F401
import pytest
from mutation_kinds import MUTATIONS, Inapplicable, alter, applies
from mutation_runs import RunCopy, recordings


def runs_for(mutation):
    """Return, one by one, the names of the recorded runs that a mutation can alter."""
    return (name for name in recordings() if applies(mutation, RunCopy(name)))


def altered(mutation, name, chosen):
    """Yield (seed, changes) of each way that alters the run as no way before did."""
    seen = []
    for number in range(mutation.ways or chosen.ways):
        run, key = RunCopy(name), f"{chosen.seed}/{mutation.name}/{name}/{number}"
        try:
            alter(mutation.change, run, Random(key))
        except Inapplicable:
            continue
        changes = run.changes()
        if changes and changes not in seen:
            seen.append(changes)
            yield key, changes


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=lambda mutation: mutation.name.replace(" ", "_"))
def test_mutation(mutation, bench, chosen, rows):
    meant = [name for name in runs_for(mutation) if chosen.run in name]
    names, enough = chosen.share(mutation.name, meant)
    for name in names:
        if len({row["run"] for row in rows}) == enough:
            break
        for key, changes in altered(mutation, name, chosen):
            verdict, cause, broken = bench.judge(name, changes)
            rows.append(
                {
                    "kind": mutation.name,
                    "attacks": mutation.attacks,
                    "benign": mutation.benign,
                    "run": name,
                    "seed": key,
                    "verdict": verdict,
                    "cause": cause,
                    "seen_by": broken,
                }
            )
    assert rows or mutation.made or chosen.run or not meant, "it alters nothing"
    wrong = [row for row in rows if (row["verdict"] == "PASS") is not mutation.benign]
    assert not wrong
