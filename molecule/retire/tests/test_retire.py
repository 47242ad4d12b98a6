# SPDX-License-Identifier: Apache-2.0
"""Nothing of Rekindle is on the host, and what is worth keeping is at home."""

import json
import os
from pathlib import Path

HOME = Path(os.environ["REKINDLE_RESULTS"], "leased")


def test_nothing_is_left(host):
    assert host.check_output("ls -A /home/lease").split() == [".bash_logout", ".bashrc", ".profile", ".ssh"]
    assert host.run("ls -A /dev/shm /tmp /var/tmp | grep -E 'rekindle|torch|nvflare|ansible'").stdout == ""


def test_run_logs_and_capsule_are_kept():
    kept = json.loads((HOME / "retired.json").read_text())
    # the other was of a federation, whose runs have their verdict elsewhere
    run = next(run for run, verdict in kept["runs"].items() if verdict == "PASS")
    assert run.startswith("pt_ddp-")
    names = {path.relative_to(HOME / "retired").as_posix() for path in HOME.glob("retired/**/*")}
    assert {f"runs/{run}/ended.json", "logs/environments/log.txt", "env.json"} <= names
    assert {f"locks/{lock}" for lock in kept["environments"]} <= names
