# SPDX-License-Identifier: Apache-2.0
"""The examples that read results.json: hosts to drain, and tickets."""

import json
import shlex
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
import yaml
from msgspec.structs import replace
from runners.commands import capture_command
from runners.plays import REPOSITORY
from samples.folders import FAIL, add_host, fill

from rekindle.report.reports import write_reports

CONTRIB = REPOSITORY / "contrib"
EVIL = "ECC'; touch /tmp/x $(id) `id`\nfailed."


@pytest.fixture
def results(tmp_path):
    """Return results.json of three hosts: two with a bad GPU, and a job that is wrong."""
    folder = fill(tmp_path / "run", "gpu-1", "gpu-2", "gpu-3")
    for host in ("gpu-1", "gpu-2"):
        add_host(folder, host, verdict=replace(FAIL, layer="host", cause=EVIL))
    add_host(folder, "gpu-3", verdict=replace(FAIL, layer="job"))
    write_reports(folder)
    return folder / "results.json"


def run(name, *words, stdin=None):
    command = [sys.executable, CONTRIB / name, *words]
    return capture_command(command, input=stdin, timeout=60)


def test_hosts_with_bad_hardware_are_drained_and_their_text_is_no_command(results):
    lines = run("drain.py", results).stdout.splitlines()
    assert [shlex.split(line)[:4] for line in lines] == [
        ["scontrol", "update", f"nodename={host}", "state=drain"] for host in ("gpu-1", "gpu-2")
    ]
    assert shlex.split(lines[0])[4] == f"reason=rekindle: FAIL: {' '.join(EVIL.split())}"
    assert len(shlex.split(lines[0])) == 5
    other = run("drain.py", results, "--layers", "job", "--command", "kubectl cordon {host}")
    assert other.stdout == "kubectl cordon gpu-3\n"


@pytest.fixture
def webhook():
    """Return an address, and what was posted there."""
    posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *words):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", posted
    server.shutdown()
    server.server_close()


def test_a_cause_has_one_ticket_until_it_is_gone(results, webhook, tmp_path):
    url, posted = webhook
    words = ("--state", tmp_path / "tickets.json", url)
    text = results.read_text()
    assert run("ticket.py", *words, stdin=text).returncode == 0
    assert [ticket["labels"] for ticket in posted] == [["rekindle", "host"], ["rekindle", "job"]]
    assert "FAIL on 2 hosts: gpu-1, gpu-2" in posted[0]["body"]
    assert all(line.startswith("    ") for line in posted[0]["body"].splitlines())
    run("ticket.py", *words, stdin=text)
    assert len(posted) == 2
    run("ticket.py", *words, stdin=json.dumps({"causes": []}))
    run("ticket.py", *words, stdin=text)
    assert len(posted) == 4


def test_a_ticket_that_was_not_taken_is_posted_again(results, webhook, tmp_path):
    words = ("--state", tmp_path / "tickets.json")
    assert run("ticket.py", *words, "http://127.0.0.1:1/", stdin=results.read_text()).returncode
    url, posted = webhook
    assert run("ticket.py", *words, url, stdin=results.read_text()).returncode == 0
    assert len(posted) == 2
    causes = json.loads(results.read_text())["causes"]
    more = json.dumps({"causes": [{**causes[0], "name": "new"}, *causes]})
    assert run("ticket.py", *words, "http://127.0.0.1:1/", stdin=more).returncode
    run("ticket.py", *words, url, stdin=more)
    assert len(posted) == 3


def test_pipelines_are_yaml():
    (job,) = yaml.safe_load((CONTRIB / "github-actions.yml").read_text())["jobs"].values()
    assert any("rekindle site" in step.get("run", "") for step in job["steps"])
