# SPDX-License-Identifier: Apache-2.0
"""Hostile text in every field of every record that reaches the reports: their structure stays what it is."""

import json
import re
from html.parser import HTMLParser
from typing import get_args
from xml.etree import ElementTree

import pytest
from msgspec import inspect

from rekindle import records
from rekindle.records.text import clean_text
from rekindle.report.reports import write_reports

KINDS = {
    "host.json": records.HostRecord,
    "plan.json": records.PlanRecord,
    "env.json": records.EnvRecord,
    "acceptance.json": records.AcceptanceRecord,
    "outcome.json": records.Outcome,
    "retired.json": records.RetiredRecord,
    "job/verdict.json": records.VerdictRecord,
}
MARK = "HARMLESS"
HOSTILE = {
    "an OSC without an end": f"{MARK}\x1b]0;",
    "an OSC's end": f"\x07{MARK}",
    "an OSC over quotes": f'\x1b]8;;" autofocus onfocus=alert(1) \x07{MARK}',
    "a CSI without an end": f"{MARK}\x1b[",
    "a CSI of eight bits": f"\x9b31m\x9d0;{MARK}\x9c",
    "quotes": f"\"'`{MARK}\"'` onfocus=x ",
    "tags": f"</td></table><script>{MARK}</script><!--",
    "a CDATA section": f"]]>{MARK}<![CDATA[",
    "entities": f"&lt;{MARK}&#x3c;script&gt;&amp;",
    "a template": f"{{{{ 7*7 }}}}{{% raw %}}{MARK}{{% endraw %}}%s %d",
    "a comment's end": f"--></style></title>{MARK}",
    "other directions": f"\u202e{MARK}\u2066\u061c\ufffe",
    "what XML forbids": f"\x00\x0b{MARK}\uffff",
}
_VOID = {"meta", "input"}
_PAGES = ("report.html", "host/report.html")


class Skeleton(HTMLParser):
    """Elements and attributes of a page in their order, without texts and values; refuses wrong nesting."""

    def __init__(self, text):
        super().__init__()
        self.parts = []
        self.texts = []
        self._open = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.parts.append((tag, tuple(name for name, _ in attrs)))
        self.texts += [value or "" for name, value in attrs if name != "href"]
        for name, value in attrs:
            assert name != "href" or re.fullmatch(r"[\w.~%/#-]+", value, re.ASCII), value

    def handle_endtag(self, tag):
        self.parts.append((f"/{tag}", ()))
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    handle_decl_known = ("DOCTYPE html", "doctype html")

    def handle_decl(self, decl):
        assert decl in self.handle_decl_known

    def unknown_decl(self, data):
        raise AssertionError(f"a declaration: {data}")

    def handle_pi(self, data):
        raise AssertionError(f"an instruction: {data}")


def example(kind, text):  # noqa: PLR0911 - a type, a value
    """Return builtins for a type, with ``text`` wherever a text of any kind may stand."""
    match kind:
        case inspect.StructType(fields=fields):
            return {field.encode_name: example(field.type, text) for field in fields}
        case inspect.UnionType(types=types):
            return example(next(member for member in types if not isinstance(member, inspect.NoneType)), text)
        case inspect.VarTupleType(item_type=item):
            return [example(item, text), example(item, text)]
        case inspect.TupleType(item_types=items):
            return [example(item, text) for item in items]
        case inspect.DictType(key_type=key, value_type=value):
            return {example(key, text): example(value, text)}
        case inspect.StrType(pattern=pattern):
            return {None: text, TIME: "2026-11-21T02:15:00Z"}.get(pattern, "1.2.3")
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.IntType(ge=least):
            return max(least or 0, 1)
        case inspect.FloatType():
            return 0.5
        case inspect.BoolType():
            return False
        case inspect.AnyType():
            return text
    raise AssertionError(kind)


TIME = inspect.type_info(records.Timestamp).pattern


def skeleton(value):
    """Return JSON's own structure, each text replaced by its type."""
    if isinstance(value, dict):
        return [skeleton(item) for item in value.values()]
    return [skeleton(item) for item in value] if isinstance(value, list) else type(value).__name__


def reports(folder, text, **changes):
    """Fill a results folder with ``text`` everywhere, and write its reports."""
    for name, kind in KINDS.items():
        record = example(inspect.type_info(kind), text)
        if kind is records.HostRecord:
            record["allocation"] = None  # all of it is bounded to what its batch system knows
        if kind is records.PlanRecord:
            record["jobs"] = ["job"]
        if kind is records.VerdictRecord:
            record |= {"verdict": changes.get("verdict", "FAIL"), "host": "host", "job": "job"}
            if record["verdict"] == "PASS":  # else it is not a valid verdict
                record |= {"cause": None, "remedy": None}
                record["evidence"] = [{**result, "state": "holds"} for result in record["evidence"]]
        if kind is records.Outcome:
            record["state"] = "failed"
        path = folder / "host" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    run = {"schema": "rekindle/run/1", "run": text, "started": "2026-11-21T02:15:00Z", "hosts": ["host"]}
    (folder / "run.json").write_text(json.dumps(run))
    write_reports(folder)
    return folder


VERDICTS = ("PASS", "FAIL", "UNPROVEN")


@pytest.fixture(scope="module", params=VERDICTS)
def harmless(tmp_path_factory, request):
    assert set(VERDICTS) < set(get_args(records.VerdictKind))
    return request.param, reports(tmp_path_factory.mktemp("harmless"), MARK, verdict=request.param)


@pytest.mark.parametrize("name", HOSTILE)
def test_structure_and_text_of_every_report_stay(name, harmless, tmp_path):
    verdict, other = harmless
    folder = reports(tmp_path, HOSTILE[name], verdict=verdict)
    shown = clean_text(HOSTILE[name])
    for file, least, cut in zip(_PAGES, (40, 40), (3, 3), strict=True):  # digests are cut to 12 characters
        page, expected = (Skeleton((path / file).read_text()) for path in (folder, other))
        assert page.parts == expected.parts
        count = "\n".join(expected.texts).count(MARK)
        assert count > least
        assert "\n".join(page.texts).count(shown) >= count - cut

    cases, expected_cases = (
        list(ElementTree.parse(path / "junit.xml").getroot().iter()) for path in (folder, other)
    )
    assert [(element.tag, list(element.attrib)) for element in cases] == [
        (element.tag, list(element.attrib)) for element in expected_cases
    ]
    assert any(" ".join(shown.split()) in value for element in cases for value in element.attrib.values())

    found, expected_found = (json.loads((path / "results.json").read_text()) for path in (folder, other))
    assert skeleton(found) == skeleton(expected_found)
    assert found["run"] == shown

    everything = "".join((folder / file).read_text() for file in (*_PAGES, "junit.xml", "results.json"))
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\u2066\u061c]|\\u00[01189]", everything)


def test_the_oldest_attack_has_no_attribute_of_its_own(tmp_path):
    """Stripped from the page, the command took ``">`` with it, and what follows became attributes."""
    folder = reports(tmp_path, '\x1b]0;"\x07 autofocus onfocus=alert(1) ')
    for page in (Skeleton((folder / name).read_text()) for name in _PAGES):
        assert {name for _, names in page.parts for name in names} & {"autofocus", "onfocus"} == set()
