# SPDX-License-Identifier: Apache-2.0
"""The board for a terminal and for a wiki: complete at every width, and deaf to what hosts put in it."""

import re

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace
from samples.folders import FAIL, PASS, PLAN, add_host, fill

from rekindle.judge.known_issues import KnownIssue
from rekindle.report.board import format_board, format_markdown
from rekindle.results.board import make_board_of_runs
from rekindle.results.contents import gather_results

HOSTILE = (
    "a\x1b[2Jb|c\nd <script>x</script> [e](http://f.example) ![g](h) **i** `j` \\| ~~k~~ &lt; \u202e"
    " https://l.example www.m.example $n$ #1 [bold red]o[/]"
)
SOURCE = "https://example.org/a_b/issues/1"
KNOWN = KnownIssue(
    name="upstream_bug", entry="e", versions={}, expires="2027-06-01", message="It is lost.", source=SOURCE
)


@pytest.fixture
def board_of(tmp_path):
    """Return the board of one run of one verdict on a host of that name."""

    def make(verdict, host="gpu-1", now="2026-12-01T00:00:00Z"):
        folder = fill(tmp_path / "r", host)
        add_host(folder, host, plan=replace(PLAN, jobs=(verdict.job,)), verdict=verdict)
        return make_board_of_runs(
            [gather_results(folder)], {}, {"upstream_bug": KNOWN}, now, ["r2/run.json\x1b[2J is <b>broken."]
        )

    return make


def _rendered(markdown):
    """Return the cells of the second row of a table, as a wiki shows them."""
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    body = page[page.index("<tbody>") :]
    return re.findall(r"<td>(.*?)</td>", body), page


def test_it_shows_what_where_and_since_when(board_of):
    head, _, line, *more, unread = format_board(board_of(PASS), 160, colour=False).splitlines()
    assert head.split() == ["job", "where", "verdict", "since", "duration", "what"]
    assert re.match(r"pt_ddp +gpu-1, torch 2\.15\.0 cu132, .*PASS +2026-11-21 02:00 +3 min 20 s", line)
    assert "NVFlare 2.7.3" in " ".join([line, *more])
    assert unread == "r2/run.json is <b>broken."
    assert format_board(make_board_of_runs([], {}, {}, "", []), 80, colour=False) == "No run has a job."


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_nothing_is_lost_at_any_width(board_of, width):
    verdict = replace(FAIL, job="kaplan-meier-he", cause=f"{'Nothing came of it. ' * 9}End")
    text = format_board(board_of(verdict), width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    letters = re.sub(r"[\s─]", "", text)
    for word in ("kaplan", "FAIL", "End"):
        assert word in letters


def test_a_known_issue_has_its_name_expiry_and_link(board_of):
    excused = replace(FAIL, verdict="KNOWN_ISSUE", known_issue="upstream_bug")
    now, later = board_of(excused), board_of(excused, now="2027-07")
    assert f"Known issue upstream_bug, until 2027-06-01: {SOURCE}." in format_board(now, 400, False)
    assert "upstream_bug, expired on 2027-06-01: " in format_board(later, 400, False)
    unlisted = replace(excused, known_issue="another")
    assert "Known issue another, no longer listed." in format_board(board_of(unlisted), 400, False)
    assert f"until 2027-06-01: {SOURCE}." in format_markdown(now)


def test_a_pass_in_spite_of_one_is_loud(board_of):
    unexpected = board_of(replace(PASS, known_issue="upstream_bug"))
    text = format_board(unexpected, 400, colour=True)
    assert "\x1b[33mPASS!" in text
    assert "KNOWN ISSUE GONE: upstream_bug no longer shows. Fix: remove it from" in text
    assert "| **PASS!** |" in format_markdown(unexpected)
    assert "PASS!" not in format_board(board_of(PASS), 400, colour=True) + format_markdown(board_of(PASS))


def test_a_hosts_texts_are_escaped_in_a_wiki(board_of):
    text = format_markdown(board_of(replace(FAIL, cause=HOSTILE), host="h|\n<b>"))
    assert not re.search(r"(?<!\\)://|www\.", text)  # no link
    cells, page = _rendered(text)
    assert len(cells) == 8
    assert cells[1] == "h| &lt;b&gt;"
    shown = (
        "ab|c d &lt;script&gt;x&lt;/script&gt; [e](http://f.example) ![g](h) **i** `j` \\| ~~k~~ &amp;lt; "
    )
    assert cells[-1] == f"{shown}https://l.example www.m.example $n$ #1 [bold red]o[/]"
    assert not re.search(r"<(?!/?(table|thead|tbody|tr|th|td|p)>)", page)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", page)


def test_a_hosts_texts_are_harmless_on_a_terminal(board_of):
    text = format_board(board_of(replace(FAIL, cause=HOSTILE), host="h\x1b[31m\n"), 400, colour=False)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "ab|c d <script>" in text
    assert len(text.splitlines()) == 4
