# SPDX-License-Identifier: Apache-2.0
"""Sites whose results come too late, in a workflow whose rounds go on without them."""

import json

import pytest

from rekindle.flare.tasks import Account
from rekindle.flare.workspace import locate_workspace

CONTEXT = "[identity=simulator_server, run=simulate_job, wf=controller, peer={site}, peer_run=simulate_job]"
GIVEN = "assigned task to client {site}: name=train, id={id}"
CAME = "got result from client {site} for task: name=train, id={id}"
LATE = "task {id} is not found"


@pytest.fixture
def account(tmp_path):
    """Return what reads the server's log of two sites, of which a round needs so many."""

    def read(least, *lines):
        app = tmp_path / "server/simulate_job/app_server/config"
        app.mkdir(parents=True)
        flow = {"id": "controller", "path": "x.ScatterAndGather", "args": {"min_clients": least}}
        (app / "config_fed_server.json").write_text(json.dumps({"workflows": [flow]}))
        clients = {"job_clients": [{"name": "site-1"}, {"name": "site-2"}]}
        (tmp_path / "server/simulate_job/meta.json").write_text(json.dumps(clients))
        texts = [
            f"2026-11-27 22:05:{10 + number},000 - ServerRunner - INFO - "
            f"{CONTEXT.format(site=site)} - {text.format(site=site, id=key)}"
            for number, (site, text, key) in enumerate(lines)
        ]
        (tmp_path / "server/log.txt").write_text("\n".join([*texts, ""]))
        for site in ("site-1", "site-2"):
            (tmp_path / site).mkdir()
            (tmp_path / site / "log.txt").write_text(texts[0])
        return Account(locate_workspace(tmp_path))

    return read


BOTH = [("site-1", GIVEN, "a"), ("site-2", GIVEN, "b"), ("site-1", CAME, "a")]


def test_a_late_result_may_be_missing_and_so_may_the_one_that_the_end_cuts_off(account):
    found = account(1, *BOTH, ("site-2", LATE, "b"), ("site-2", GIVEN, "c"))
    assert found.missable == {"b", "c"}
    assert [task.late for task in found.tasks] == [False, True, False]


def test_a_site_that_never_answered_is_not_late(account):
    assert account(1, *BOTH).missable == set()


def test_where_a_round_needs_every_site_none_may_be_missing(account):
    assert account(2, *BOTH, ("site-2", LATE, "b")).missable == set()
