# SPDX-License-Identifier: Apache-2.0
"""playbooks/accept.yml alone: its status is that of the acceptance."""

import json
import shutil

from runners.plays import play


def test_a_host_whose_acceptance_fails_ends_it_with_a_failure(local, host_records, tmp_path):
    home = shutil.copytree(host_records, tmp_path / "local")
    plan = json.loads((home / "plan.json").read_text())
    (home / "plan.json").write_text(json.dumps({**plan, "jobs": ["acceptance"]}))
    done = play("playbooks/accept.yml", local, tmp_path)
    assert done.status != 0
    assert "acceptance is FAIL: A program is missing" in " ".join(done.output.split())
