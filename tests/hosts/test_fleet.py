"""Each host goes on by itself: one that is dead and one that is slow hold up no other."""

import pytest
from lab.labs import Lab
from plays import play

from rekindle.records import Outcome, read

SLOW_S = 40


@pytest.fixture
def fleet(named):
    """Return a lab of light hosts: a dead one, one that is slow to say that it is broken, and a good one."""
    lab = Lab(named("fleet"), light=True)
    try:
        lab.up(["dead", "slow", "good"])
        lab.hosts["dead"].set_link(up=False)
        (lab.hosts["slow"].root / "home/lease/.bashrc").write_text(f"sleep {SLOW_S}; exit 9\n")
        lab.hang_up()
        yield lab
    finally:
        lab.down()


def test_a_dead_host_and_a_slow_one_hold_up_no_other(fleet, tmp_path):
    """The good one has left two stages later, for want of wheels, before the two leave the first."""
    (tmp_path / "none").mkdir()
    variables = {
        "rekindle_wheelhouse": tmp_path / "none",
        "ansible_ssh_timeout": SLOW_S,
        "ansible_ssh_retries": 0,
    }
    given = [part for name, value in variables.items() for part in ("-e", f"{name}={value}")]
    done = play("site.yml", fleet.inventory, tmp_path / "r", *given)
    assert done.status != 0
    outcomes = {name: tmp_path / "r" / name / "outcome.json" for name in fleet.hosts}
    stages = {name: read(path, Outcome).stage for name, path in outcomes.items()}
    assert stages == {"dead": "preflight", "slow": "preflight", "good": "environments"}, done.output
    left = {name: path.stat().st_mtime for name, path in outcomes.items()}
    assert left["good"] < min(left["dead"], left["slow"])
