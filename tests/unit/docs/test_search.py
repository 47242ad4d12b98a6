# SPDX-License-Identifier: Apache-2.0
"""The built site answers a stranger's questions by its search, in Chromium, which CI installs."""

import json
import re
import shutil
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote_plus

import pytest
from runners.commands import capture_command

SITE = Path(__file__).parents[3] / "docs" / "_build" / "html"
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not here"),
    pytest.mark.skipif(not (SITE / "searchindex.js").exists(), reason="the site is not built: make docs"),
]
ANSWERED = {
    "your own job": "howto/own-job",
    "pip packages": "howto/packages",
    "requirements.txt": "howto/packages",
    "HF_TOKEN": "howto/data",
    "recipe": "howto/own-job",
    "my data": "howto/data",
    "bastion": "howto/firewall",
    "proxy": "howto/firewall",
    "mirror": "howto/mirror",
    "air gap": "howto/air-gap",
    "slurm": "howto/slurm",
    "docker": "howto/containers",
    "watch": "howto/watch",
    "nightly": "howto/ci",
    "grafana": "howto/ci",
    "upgrade nvflare": "howto/upgrade",
    "uninstall": "howto/remove",
    "several users": "howto/several-people",
    "UNPROVEN": "reference/verdicts",
    "HUNG": "howto/failed",
    "exit status": "reference/verdicts",
    "rekindle_wheelhouse": "reference/settings",
    "every_site_trained": "reference/checks",
    "/dev/shm is full": "reference/causes",
    "lease ends": "howto/time",
    "how long": "howto/time",
    "cost": "howto/time",
    "stored": "reference/results",
    "inventory": "tutorial/lease",
    "jenkins": "howto/ci",
    "results folder": "reference/results",
    "certificate": "howto/federation",
    "ECC": "howto/accept",
}
"""What somebody types, and the page that has to be among the first five."""
ASKED = """<!doctype html><body><script>
const words = {words}, found = {{}};
const ask = (word) => new Promise((answer) => {{
  const frame = document.createElement("iframe");
  frame.src = "search.html?q=" + word;
  document.body.append(frame);
  const look = () => {{
    const page = frame.contentDocument;
    const done = page && (page.querySelector("#search-results .search-summary")?.textContent || "");
    if (!/finished|did not match/.test(done)) return setTimeout(look, 50);
    answer([...page.querySelectorAll("#search-results li a")].map((link) => link.getAttribute("href")));
  }};
  look();
}});
(async () => {{
  for (const word of words) found[word] = await ask(word);
  document.body.dataset.result = JSON.stringify(found);
}})();
</script>"""


class _Quiet(SimpleHTTPRequestHandler):
    asked = ""

    def do_GET(self):
        if self.path != "/asked.html":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        return self.wfile.write(self.asked.encode())

    def log_message(self, *words):
        pass


@pytest.fixture
def found():
    """Return the pages that the site's own search lists for each text."""
    words = [quote_plus(text) for text in [*ANSWERED, "zebrafish"]]
    handler = type("Asked", (_Quiet,), {"asked": ASKED.format(words=json.dumps(words))})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=SITE)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = f"http://127.0.0.1:{server.server_port}/asked.html"
        quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--no-proxy-server"]
        command = [CHROMIUM, *quiet, "--virtual-time-budget=120000", "--dump-dom", page]
        done = capture_command(command, timeout=300, check=True)
        server.shutdown()
    answers = json.loads(unescape(re.search('data-result="([^"]*)"', done.stdout)[1]))
    return {text: answers[quote_plus(text)] for text in [*ANSWERED, "zebrafish"]}


def test_the_page_that_answers_is_among_the_first_and_what_no_page_has_is_not_found(found):
    pages = {
        text: list(dict.fromkeys(re.sub(r"\.html.*", "", link) for link in links))
        for text, links in found.items()
    }
    assert pages.pop("zebrafish") == []
    assert {text: first[:5] for text, first in pages.items() if ANSWERED[text] not in first[:5]} == {}
