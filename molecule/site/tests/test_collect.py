# SPDX-License-Identifier: Apache-2.0
"""The collected run is the run on the host, but for what the controller adds: its verdict and its clock."""

import hashlib
import json
import os
from pathlib import Path

HOME = Path(os.environ["REKINDLE_RESULTS"], "leased/pt_ddp")
RUN = "/home/lease/rekindle/runs/pt_ddp-*/"


def test_every_file_at_home_is_the_hosts(host):
    there = dict(
        reversed(line.split("  ", 1))
        for line in host.check_output(f"cd {RUN} && find . -type f -exec sha256sum '{{}}' +").splitlines()
    )
    here = {f"./{path.relative_to(HOME)}": path for path in HOME.rglob("*") if path.is_file()}
    assert "./verdict.json" not in there
    assert {"./ended.json", "./spec.json"} <= here.keys()
    del here["./clock.json"]
    assert json.loads(here.pop("./verdict.json").read_text())["verdict"] == "PASS"
    for name, path in here.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == there[name], name
