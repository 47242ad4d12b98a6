# SPDX-License-Identifier: Apache-2.0
"""The pages in Chromium, which CI installs: what its script does, widths, and printing."""

import json
import os
import re
import shutil
from html import unescape
from pathlib import Path

import pytest
from runners.commands import capture_command
from samples.many_hosts import many_hosts

from rekindle.cli.board import make_board
from rekindle.report.board_page import render_board_page
from rekindle.report.reports import write_reports

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not here")
FRAME = """<!doctype html><iframe src="{page}" style="width: {width}px; height: 900px; border: 0"></iframe>
<script>addEventListener("message", ({{ data }}) => {{ document.body.dataset.result = data; }});</script>"""
ASKED = """<script>
const rows = () => [...document.querySelectorAll("[data-kinds][data-host]")].filter((row) => !row.hidden);
const names = () => rows().map((row) => (row.cells?.[0] ?? row).textContent);
const type = (text) => {{
  document.querySelector("[type=search]").value = text;
  document.querySelector("form").dispatchEvent(new Event("input"));
}};
Promise.resolve((() => {{ {body} }})()).then((found) => parent.postMessage(JSON.stringify(found), "*"));
</script></html>"""
PAGES = ("report.html", "gpu-001/report.html", "board.html")
AXE = os.environ.get("AXE")
"""File of axe-core's rules."""


def chromium(*words):
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    done = capture_command([CHROMIUM, *quiet, *words], timeout=120, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Return the results of 40 hosts, with their pages."""
    folder = many_hosts(tmp_path_factory.mktemp("fleet"), 40)
    board = make_board([write_reports(folder)], [])
    (folder / "board.html").write_text(render_board_page(board, [], {folder.name: "."}))
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return the results of 200 hosts, with their pages."""
    folder = many_hosts(tmp_path_factory.mktemp("large"), 200)
    write_reports(folder)
    return folder


def asked(path, width, body, *, before="", dark=False):
    """Return what JavaScript finds in a page without its policy, in a frame of some width."""
    text = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text())
    path.with_name("asked.html").write_text(text.replace("</html>", before + ASKED.format(body=body)))
    frame = path.with_name("frame.html")
    frame.write_text(FRAME.format(page="asked.html", width=width))
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    dom = chromium("--virtual-time-budget=20000", *scheme, "--dump-dom", frame.as_uri())
    return json.loads(unescape(re.search('data-result="([^"]*)"', dom)[1]))


@pytest.fixture(scope="module")
def ask(fleet):
    """Return `asked` of the results of 40 hosts."""
    return lambda body, page="report.html", width=1280: asked(fleet / page, width, body)


def test_words_and_verdicts_filter_hosts_and_causes(ask):
    all_hosts, one, failed, sections, dimmed = ask("""
        const found = [names()];
        type("GPU-007 h200"); found.push(names());
        type(""); document.querySelector("[value=FAIL]").click();
        found.push(rows().map((row) => row.dataset.kinds));
        return [...found, document.querySelectorAll("section:not([hidden]):not([data-kinds=FAIL])").length,
          document.querySelectorAll(".square.out").length];
    """)
    assert (len(all_hosts), one, sections) == (40, ["gpu-007"], 0)
    assert set(failed) == {"FAIL"}
    assert dimmed == 40 - len(failed)


def test_the_filter_is_in_the_address_and_comes_back_from_it(ask):
    address, shown, again, copied = ask("""
        type("gpu-0"); document.querySelector("[value=HUNG]").click();
        const [address, shown] = [location.hash, names()];
        location.hash = ""; dispatchEvent(new Event("hashchange"));
        const all = names().length;
        location.hash = address; dispatchEvent(new Event("hashchange"));
        const button = document.querySelector("form button");
        return [address, [all, ...shown], names(), [button.hidden, button.textContent]];
    """)
    assert address == "#kind=HUNG&text=gpu-0"
    assert shown == [40, *again]
    assert copied == [False, f"copy these {len(again)} hosts"]
    assert 0 < len(again) < 10


def test_a_button_copies_the_hosts_of_a_cause(ask):
    (names, copied) = ask("""
        let copied; document.execCommand = () => { copied = document.activeElement.value; };
        Object.defineProperty(navigator, "clipboard", { value: undefined });
        const cause = document.querySelector(".cause");
        cause.querySelector("[data-copy] button").click();
        return [[...cause.querySelectorAll(".names a")].map((name) => name.textContent), copied];
    """)
    assert copied == ",".join(names)


def test_a_click_on_a_heading_sorts_by_it_and_another_the_other_way(ask):
    first, second, of_job, order = ask("""
        const body = document.querySelector(".matrix").tBodies[0];
        const column = (n) => [...body.rows].map((row) => row.cells[n].textContent);
        const [named, cells] = [() => column(0), () => column(2)];
        const head = document.querySelector(".matrix thead button");
        head.click(); const first = named(); head.click(); const second = named();
        const job = document.querySelectorAll(".matrix thead button")[2]; job.click();
        return [first, second, cells(), job.parentNode.ariaSort];
    """)
    assert first == sorted(first)
    assert second == first[::-1]
    assert (of_job, order) == (sorted(of_job), "ascending")
    assert len(set(of_job)) > 1


@pytest.mark.parametrize(("page", "most"), list(zip(PAGES, (8_000, 14_000, 8_000), strict=True)))
@pytest.mark.parametrize("width", [1280, 720, 390])
def test_nothing_scrolls_sideways_and_a_page_has_its_end_in_sight(ask, page, width, most):
    size = "const root = document.documentElement; return [root.scrollWidth, root.scrollHeight];"
    wide, high = ask(size, page, width)
    assert wide <= width
    assert high <= most


@pytest.mark.parametrize("width", [1280, 720, 390])
def test_two_hundred_hosts_have_all_causes_on_the_first_screen(large, width):
    """And the table has each of its columns in sight, and no name is broken."""
    causes, below, table, broken = asked(
        large / "report.html",
        width,
        """
        const lines = [...document.querySelectorAll(".index li")];
        const scroll = document.querySelector(".matrix").parentNode;
        return [lines.length, lines.filter((line) => line.getBoundingClientRect().bottom > 900).length,
          scroll.scrollWidth - scroll.clientWidth,
          [...document.querySelectorAll("a.name")].filter((name) => name.getClientRects().length > 1).length];
    """,
    )
    assert causes == 7
    assert (below, table, broken) == (0, 0, 0)


def test_pages_are_light(large):
    assert (large / "report.html").stat().st_size <= 400_000
    assert max(path.stat().st_size for path in large.glob("*/report.html")) <= 250_000


def test_a_single_host_shows_its_curves_and_checks_without_a_click(tmp_path):
    write_reports(many_hosts(tmp_path, 1))
    found = asked(
        tmp_path / "report.html",
        1280,
        """
        const every = (of) => [...document.querySelectorAll(of)];
        const seen = (of) => every(of).filter((part) => part.checkVisibility()).length;
        return [seen("figure"), seen("th[scope=row]"), seen(".lanes"), seen("#environment"), seen("form")];
    """,
    )
    charts, checks, lanes, environment, form = found
    assert charts >= 12
    assert checks >= 6 * 7
    assert (lanes, environment, form) == (1, 1, 0)


@pytest.mark.skipif(
    AXE is None, reason="axe-core is not here: npm install axe-core, and AXE with its axe.min.js"
)
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(fleet, page, scheme):
    rules = Path(AXE).read_text(encoding="utf-8")
    found = asked(
        fleet / page,
        1280,
        """
        return axe.run().then(({ violations }) => violations
          .filter(({ impact }) => ["serious", "critical"].includes(impact))
          .map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html)]));
    """,
        before=f"<script>{rules}</script>",
        dark=scheme == "dark",
    )
    assert found == []


def test_forty_hosts_print_on_two_sheets(fleet, tmp_path):
    chromium(
        f"--print-to-pdf={tmp_path}/page.pdf", "--no-pdf-header-footer", (fleet / "report.html").as_uri()
    )
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())) <= 2
