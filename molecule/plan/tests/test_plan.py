"""Planning happens on the controller; the host is not touched."""

import json
import os
from pathlib import Path

RESULTS = Path(os.environ["REKINDLE_RESULTS"], "leased")


def test_it_plans_a_cpu_build_for_the_hosts_own_python(host):
    (planned,) = json.loads((RESULTS / "plan.json").read_text())["environments"]
    assert planned["build"]["variant"] == "cpu"
    assert host.file(planned["build"]["python"]).exists


def test_it_left_nothing_on_the_host(host):
    assert not host.file("/home/lease/rekindle").exists
