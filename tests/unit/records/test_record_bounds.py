# SPDX-License-Identifier: Apache-2.0
"""One host's record is bounded in every field, read by one boundary, and known before any thread starts."""

import json
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from msgspec import inspect
from msgspec.structs import replace

from rekindle import records
from rekindle.federation import records as of_federation
from rekindle.records import base, events
from rekindle.retire import lastcopy

REPOSITORY = Path(__file__).parents[3]
YEARS = 4_102_444_800
KINDS = [*records.Record.__subclasses__(), events.AnyEvent]
MODULES = ("rekindle.records.", of_federation.__name__)
OURS = [kind for kind in KINDS if getattr(kind, "__module__", "").startswith(MODULES)]
ANY = {"Environment.probe", "Progress.result", "Claim.options", "ConfigurationEvent.content"}
"""Descriptions by tools and frameworks, bounded by the file's size, or by its line's."""
ANY |= {"RunMember.given", "RunMember.measured"}
"""Bounded by the records of its room."""


def parts(kind, place):
    """Yield the types that a type is made of, each with the record and field where it stands."""
    match kind:
        case inspect.StructType(cls=cls, fields=fields):
            yield from ((field.type, f"{cls.__name__}.{field.name}") for field in fields)
        case inspect.UnionType(types=types) | inspect.TupleType(item_types=types):
            yield from ((member, place) for member in types)
        case inspect.VarTupleType(item_type=item):
            yield item, place
        case inspect.DictType(key_type=key, value_type=value):
            yield from ((key, place), (value, place))


def loose(kind, place):
    """Whether text, a number or a collection has no end."""
    match kind:
        case inspect.StrType(max_length=most) | inspect.VarTupleType(max_length=most):
            return most is None
        case inspect.DictType(max_length=most):
            return most is None
        case inspect.IntType(ge=least, le=most) | inspect.FloatType(ge=least, le=most):
            return least is None or most is None
        case inspect.AnyType():
            return place not in ANY
    known = inspect.StructType | inspect.UnionType | inspect.TupleType | inspect.LiteralType
    assert isinstance(kind, known | inspect.BoolType | inspect.NoneType), (place, kind)
    return False


def unbounded(kind, place=""):
    """Return the places in a type that have no end."""
    own = [place] if loose(kind, place) else []
    return own + [inner for part in parts(kind, place) for inner in unbounded(*part)]


@pytest.mark.parametrize("kind", [*OURS, events.AnyEvent, lastcopy.LastCopy], ids=lambda kind: str(kind)[:40])
def test_every_field_of_every_record_is_bounded(kind):
    assert unbounded(inspect.type_info(kind)) == []


def test_a_field_without_a_bound_is_found():
    class Loose(msgspec.Struct):
        text: str
        numbers: records.base.Few[int]
        table: dict[records.base.Text, records.base.Text]

    assert unbounded(inspect.type_info(Loose)) == ["Loose.text", "Loose.numbers", "Loose.table"]


TIMES = ("started", "at", "asked", "built", "collected", "made", "ends", "retired", "sealed", "kept", "began")
STAGES = {"PlaybookRecord.asked"}
SECONDS = re.compile(r".*(?<!bit)(?<!mb)(?<!gb)(?<!per)_s|seconds|time|since|until")


def timeless(kind, place=""):
    """Return the places in a type of a time or a length of time with which nothing can be calculated."""
    name, found = place.rpartition(".")[2], []
    match kind:
        case inspect.DictType(value_type=value):
            return timeless(value, place)
        case inspect.StrType(pattern=pattern) if name in TIMES and place not in STAGES:
            found = [] if pattern else [place]
        case inspect.IntType(ge=least, le=most) | inspect.FloatType(ge=least, le=most):
            bounded = None not in (least, most) and max(abs(least), abs(most)) <= YEARS
            found = [] if bounded or not SECONDS.fullmatch(name) else [place]
    return found + [inner for part in parts(kind, place) for inner in timeless(*part)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind)[:40])
def test_every_time_of_every_record_can_be_calculated_with(kind):
    assert timeless(inspect.type_info(kind)) == []


@pytest.mark.parametrize("stamp", ["1970-01-01T00:00:00Z", "2000-02-29T23:59:59Z", "2099-12-31T23:59:59Z"])
def test_a_time_is_one_as_it_is_written(stamp):
    assert records.format_time(records.parse_time(stamp)) == stamp
    assert records.format_time(records.convert_epoch(records.parse_time(stamp).timestamp())) == stamp


@pytest.mark.parametrize(
    "stamp",
    ["", "x", "2026-02-29T00:00:00Z", "2100-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2026-11-21T24:00:00Z",
     "2026-04-31T00:00:00Z", "2026-11-21T02:15:00Z\n", "٢٠٢٦-11-21T02:15:00Z", "2026-11-21T02:15:60Z"],
)  # fmt: skip
def test_what_is_no_time_is_refused(stamp):
    with pytest.raises(records.RecordError):
        records.parse_time(stamp)
    with pytest.raises(records.RecordError):
        records.decode_json(json.dumps({"offset_s": 0, "error_s": 0, "asked": stamp}), records.Clock)


@pytest.mark.parametrize("seconds", [-1, 1e99, float("nan"), float("inf"), 4102444800])
def test_seconds_that_are_no_time_are_refused(seconds):
    with pytest.raises(records.RecordError):
        records.convert_epoch(seconds)


@pytest.mark.parametrize("year", [1, 1969, 2101, 9999])
def test_a_time_that_no_record_can_have_is_not_written(year):
    with pytest.raises(records.RecordError):
        records.format_time(datetime(year, 1, 1, tzinfo=timezone(timedelta(hours=14))))


DEVICE = {"site": "s", "rank": 0, "device": "cpu"}
VERDICT = {
    **{"job": "j", "host": "h", "verdict": "PASS", "cause": None, "remedy": None, "evidence": []},
    **{"started": None, "duration_s": None, "lock_sha256": None, "versions": {}, "devices": [], "rounds": []},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cause": "x" * 8_000_000}, "Expected `str` of length <= 4000 - at `$.cause`"),
        ({"devices": [DEVICE] * 1_001}, "Expected `array` of length <= 1000 - at `$.devices`"),
        ({"versions": dict.fromkeys(map(str, range(100_001)), "")}, "`object` of length <= 100000 - at `$.v"),
        ({"duration_s": 10**300}, "Expected `float` <= 4102444799.0 - at `$.duration_s`"),
        ({"duration_s": -1}, "Expected `float` >= 0.0 - at `$.duration_s`"),
        ({"started": "x"}, "Expected a time such as 2026-11-21T02:15:00Z - at `$.started`"),
        ({"started": "2026-02-30T00:00:00Z"}, "Expected a time such as 2026-11-21T02:15:00Z - at `$.st"),
        ({"host_memory_mib": {"server": 10**300}}, "Expected `int` <= 9007199254740992"),
        ({"host_memory_mib": {"server": 1 << 60}}, "Expected `int` <= 9007199254740992"),
        ({"duration_s": float("nan")}, "JSON is malformed"),
        ({"duration_s": float("inf")}, "JSON is malformed"),
        ({"x" * 100_000: 1}, "Object contains unknown field `xxx"),
        ({"host": "\ud800"}, "is not a valid VerdictRecord"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_a_host_may_not_send_is_one_short_sentence(tmp_path, change, message):
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps({**VERDICT, **change}))
    with pytest.raises(records.RecordError, match="Fix: have its stage write it again") as error:
        records.read_record(path, records.VerdictRecord)
    assert message in str(error.value)
    assert len(str(error.value)) < 1_000 + len(str(path))


def test_a_file_beyond_the_limit_is_not_read_whole(tmp_path):
    path = tmp_path / "verdict.json"
    with path.open("wb") as stream:
        stream.truncate(base.FILE_LIMIT + 1)
    with pytest.raises(records.RecordError, match="cannot be read: it has more than 33554432 bytes"):
        records.read_record(path, records.VerdictRecord)


@pytest.mark.parametrize("letter", ["x", '"', "\\", "é", "\n"])
def test_a_long_sentence_of_ours_loses_its_middle_and_can_be_read_again(tmp_path, letter):
    verdict = records.decode_json(json.dumps({**VERDICT, "versions": {"a": "1"}}), records.VerdictRecord)
    path = tmp_path / "verdict.json"
    records.write_record(path, replace(verdict, cause=f"begins {letter * 4_001} ends"))
    cause = records.read_record(path, records.VerdictRecord).cause
    assert len(cause) <= 4_000
    assert cause.startswith(f"begins {letter * 2}")
    assert cause.endswith(f"{letter * 2} ends")


@pytest.mark.parametrize("value", [{1: 10**400}, {"x": {1, 2}}, {"x": "\ud800"}, object(), [[]] * 3])
def test_builtins_that_json_cannot_hold_are_refused(value):
    with pytest.raises(records.RecordError):
        records.convert_builtins(value, records.PlaybookRecord)


def test_all_that_reads_a_type_does_so_through_records():
    pattern = re.compile(r"msgspec\.(convert|json\.(decode|Decoder))|from msgspec import .*(convert|json)")
    places = [*(REPOSITORY / "src").rglob("*.py"), *(REPOSITORY / "plugins").rglob("*.py")]
    # What has a type known to base read once more for all that is wrong, misfits, reads its fields too.
    own = {REPOSITORY / "src/rekindle/records" / name for name in ("base.py", "misfits.py")}
    assert len(places) > 100
    assert [str(path) for path in places if path not in own and pattern.search(path.read_text())] == []


def test_a_type_that_no_import_made_known_is_refused_and_not_made_known_in_a_thread():
    class Late(records.Record):
        pass

    with pytest.raises(KeyError):
        records.decode_json("{}", Late)


_AT_ONCE = """
import sys, threading

from rekindle import records
from rekindle.retire import lastcopy
from rekindle.records import base
sys.setswitchinterval(1e-7)
start, before = threading.Barrier(4), set(base._DECODERS)
def first():
    start.wait()
    for kind in before:
        try:
            records.decode("{}", kind)
        except records.RecordError:
            pass
threads = [threading.Thread(target=first) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(before) > 20 and set(base._DECODERS) == before
"""


def test_four_threads_read_every_record_at_once():
    for _ in range(3):
        subprocess.run([sys.executable, "-c", _AT_ONCE], check=True, timeout=60)
