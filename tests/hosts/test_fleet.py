# SPDX-License-Identifier: Apache-2.0
"""What one host of a fleet does to the others."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from lab.labs import Lab
from runners.plays import play

from rekindle.records import Outcome, read_record

LONGER_THAN_PREFLIGHT_MAY_S = 600


@pytest.fixture
def fleet(named):
    """Return a lab of light hosts: a dead one, one that is slow to say that it is broken, and a good one."""
    lab = Lab(named("fleet"), light=True)
    try:
        lab.up(["dead", "slow", "good"])
        lab.hosts["dead"].set_link(up=False)
        home = lab.hosts["slow"].root / "home/lease"
        (home / ".bashrc").write_text("until [ -e ~/go ]; do sleep 0.2; done; exit 9\n")
        lab.hang_up()
        yield lab
    finally:
        lab.down()


def test_a_dead_host_and_a_slow_one_hold_up_no_other(fleet, tmp_path):
    """The good one has left a stage later, for want of wheels, while the two are still in the first."""
    (tmp_path / "none" / "0123456789ab").mkdir(parents=True)
    variables = {
        "rekindle_wheelhouse": tmp_path / "none",
        "ansible_ssh_timeout": LONGER_THAN_PREFLIGHT_MAY_S,
        "ansible_ssh_retries": 0,
    }
    given = [part for name, value in variables.items() for part in ("-e", f"{name}={value}")]
    outcomes = {name: tmp_path / "r" / name / "outcome.json" for name in fleet.hosts}
    with ThreadPoolExecutor(1) as pool:
        site = pool.submit(play, "site.yml", fleet.inventory, tmp_path / "r", *given)
        while not (site.done() or any(path.exists() for path in outcomes.values())):
            time.sleep(0.1)
        left = [name for name, path in outcomes.items() if path.exists()]
        (fleet.hosts["slow"].root / "home/lease/go").touch()
        fleet.hosts["dead"].cut_power()
        fleet.hosts["dead"].set_link(up=True)  # and what is left of it refuses ssh
        done = site.result()
    assert left == ["good"], done.output
    assert done.status != 0
    stages = {name: read_record(path, Outcome).stage for name, path in outcomes.items()}
    assert stages == {"dead": "preflight", "slow": "preflight", "good": "plan"}, done.output
