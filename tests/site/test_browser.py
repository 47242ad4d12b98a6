# SPDX-License-Identifier: Apache-2.0
"""The pages in Chromium, which CI installs: what its script does, widths, and printing."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from many_hosts import many_hosts

from rekindle.report.reports import write_reports

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not here")
FRAME = """<!doctype html><iframe src="{page}" style="width: {width}px; height: 900px; border: 0"></iframe>
<script>addEventListener("message", ({{ data }}) => {{ document.body.dataset.result = data; }});</script>"""
ASKED = """<script>
const rows = () => [...document.querySelectorAll(".matrix tbody tr")].filter((row) => !row.hidden);
const names = () => rows().map((row) => row.cells[0].textContent);
const type = (text) => {{
  document.querySelector("[type=search]").value = text;
  document.querySelector("form").dispatchEvent(new Event("input"));
}};
parent.postMessage(JSON.stringify((() => {{ {body} }})()), "*");
</script></html>"""


def chromium(*words):
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    done = subprocess.run([CHROMIUM, *quiet, *words], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Return the results of 40 hosts, with their pages."""
    folder = many_hosts(tmp_path_factory.mktemp("fleet"), 40)
    write_reports(folder)
    return folder


@pytest.fixture(scope="module")
def ask(fleet):
    """Return what JavaScript finds in a page without its policy, in a frame of some width."""

    def ask(body, page="report.html", width=1280):
        path = fleet / page
        text = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text())
        path.with_name("asked.html").write_text(text.replace("</html>", ASKED.format(body=body)))
        frame = path.with_name("frame.html")
        frame.write_text(FRAME.format(page="asked.html", width=width))
        dom = chromium("--virtual-time-budget=5000", "--dump-dom", frame.as_uri())
        return json.loads(unescape(re.search('data-result="([^"]*)"', dom)[1]))

    return ask


def test_words_and_verdicts_filter_hosts_and_causes(ask):
    all_hosts, one, failed, sections = ask("""
        const found = [names()];
        type("GPU-007 h200"); found.push(names());
        type(""); document.querySelector("[value=FAIL]").click();
        found.push(rows().map((row) => row.dataset.kinds));
        return [...found, document.querySelectorAll("section:not([hidden]):not([data-kinds=FAIL])").length];
    """)
    assert (len(all_hosts), one, sections) == (40, ["gpu-007"], 0)
    assert 0 < len(failed) < 40
    assert all("FAIL" in kinds.split() for kinds in failed)


def test_a_click_on_a_heading_sorts_by_it_and_another_the_other_way(ask):
    first, second, of_job, order = ask("""
        const head = document.querySelector(".matrix thead button");
        head.click(); const first = names(); head.click(); const second = names();
        const job = document.querySelectorAll(".matrix thead button")[2]; job.click();
        return [first, second, rows().map((row) => row.cells[2].textContent), job.parentNode.ariaSort];
    """)
    assert first == sorted(first)
    assert second == first[::-1]
    assert (of_job, order) == (sorted(of_job), "ascending")
    assert len(set(of_job)) > 1


@pytest.mark.parametrize("width", [1280, 720, 390])
def test_nothing_scrolls_sideways_and_a_host_has_its_end_in_sight(ask, width):
    size = "const root = document.documentElement; return [root.scrollWidth, root.scrollHeight];"
    wide, high = ask(size, width=width)
    assert wide <= width
    assert high <= 20 * 900
    wide, high = ask(size, "gpu-001/report.html", width)
    assert wide <= width
    assert high <= 6000


def test_forty_hosts_print_on_two_sheets(fleet, tmp_path):
    chromium(
        f"--print-to-pdf={tmp_path}/page.pdf", "--no-pdf-header-footer", (fleet / "report.html").as_uri()
    )
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())) <= 2
