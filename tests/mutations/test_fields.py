"""Every field of every record and event that a run's folder holds has its wrong values judged."""

from random import Random

import pytest
from field_table import FIELDS
from mutation_fields import EVENTS, fields, free_ways, ways
from mutation_kinds import Inapplicable, alter
from mutation_runs import RunCopy, recordings

NAMED = {(kind, field.name): field for kind, field in fields()}


@pytest.mark.parametrize("place", NAMED, ids=".".join)
def test_every_way_to_alter_a_field_is_a_contradiction_or_said_to_be_free(place):
    """A new field without an entry in the table fails here, and so does a new way."""
    every = set(ways(NAMED[place]))
    told = set()
    for entry in FIELDS[place]:
        assert entry.why
        assert entry.ways == "*" or entry.names(every) <= every, "a way that this field does not have"
        told |= entry.names(every)
    assert told == every


def test_the_table_has_no_field_that_is_gone():
    assert FIELDS.keys() <= NAMED.keys()


def test_a_field_without_an_entry_would_be_seen():
    place = ("round", "samples")
    assert NAMED.keys() - (FIELDS.keys() - {place}) == {place}


def test_every_kind_of_event_is_in_the_table():
    assert {kind for kind, _ in FIELDS} >= EVENTS.keys()


def test_what_cannot_be_told_breaks_nothing(bench, chosen):
    """Whatever its verdict; each in one recorded run."""
    names = recordings()
    for kind, name, way, change in free_ways(FIELDS):
        rng = Random(f"{chosen.seed}/{kind}.{name} {way}")
        for recording in rng.sample(names, len(names)):
            run = RunCopy(recording)
            try:
                alter(change, run, rng)
            except Inapplicable:
                continue
            bench.judge(recording, run.changes())
            break
