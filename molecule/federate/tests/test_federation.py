# SPDX-License-Identifier: Apache-2.0
"""A federation as it was left on its hosts: each has its own key, and nothing runs."""

import json
import os
from pathlib import Path

RESULTS = Path(os.environ["REKINDLE_RESULTS"])


def test_its_job_passed():
    verdict = json.loads((RESULTS / "federations/pt_ddp/verdict.json").read_text())
    assert verdict["verdict"] == "PASS"
    assert {device["site"] for device in verdict["devices"]} == {"beside"}


def test_a_host_has_its_own_keys_for_its_user_alone(host):
    name = host.check_output("hostname")
    kit = json.loads((RESULTS / name / "kit.json").read_text())
    own = [kit["path"], kit["admin"]] if kit["admin"] else [kit["path"]]
    keys = host.check_output("find /home/lease/rekindle/federation -name '*.key'").splitlines()
    assert {str(Path(key).parents[1]) for key in keys} == set(own)
    assert {host.file(key).mode for key in keys} == {0o600}
    assert not list(RESULTS.rglob("*.key"))


def test_nothing_listens_at_its_port(host):
    assert "8002" not in host.check_output("ss --listening --tcp --numeric --no-header")
