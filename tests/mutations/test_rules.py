"""Every rule and claim of the judge is needed: without it a mutation passes, or is seen by another one."""

import pytest
from mutation_kinds import MUTATIONS
from mutation_rules import RULES, SEEN_BY, rules
from test_mutations import altered, runs_for

from rekindle.judge.answer import Answer


def _without(register, name, patch):
    """Switch a rule or claim off."""
    off = Answer(None, "It is switched off.", applies=False)
    patch.setitem(register, name, (lambda run: ()) if register is RULES else (lambda run, options: off))


@pytest.mark.parametrize("name", sorted(rules()))
def test_without_a_rule_its_mutation_comes_through_or_has_another_cause(name, bench, chosen):
    """One that names no mutation here fails the build."""
    mutation, told = MUTATIONS[SEEN_BY[name]], []
    for recording in runs_for(mutation):
        for key, changes in altered(mutation, recording, chosen):
            with_rule = bench.judge(recording, changes)[:2]
            with pytest.MonkeyPatch.context() as patch:
                _without(rules()[name], name, patch)
                without = bench.judge(recording, changes)[:2]
            told.append((key, with_rule, without))
            if with_rule[0] != "PASS" and without != with_rule:
                return
    pytest.fail(f"{name} makes no difference to {mutation.name}: {told}")


def test_no_rule_is_named_that_is_gone():
    assert not SEEN_BY.keys() - rules().keys()
