# SPDX-License-Identifier: Apache-2.0
"""What is known of the host and planned for it is on the controller; nothing is on the host."""

import json
import os
from pathlib import Path

RESULTS = Path(os.environ["REKINDLE_RESULTS"], "leased")


def test_the_lease_has_no_end():
    lease = json.loads((RESULTS / "lease.json").read_text())
    assert (lease["host"], lease["ends"]) == ("leased", None)


def test_it_plans_a_cpu_build_for_the_hosts_own_python(host):
    (planned,) = json.loads((RESULTS / "plan.json").read_text())["environments"]
    assert planned["build"]["variant"] == "cpu"
    assert host.file(planned["build"]["python"]).exists


def test_it_left_nothing_on_the_host(host):
    assert not host.file("/home/lease/rekindle").exists
    assert host.run("ls -A /dev/shm /tmp | grep rekindle").stdout == ""
