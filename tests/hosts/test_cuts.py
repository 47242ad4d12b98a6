# SPDX-License-Identifier: Apache-2.0
"""site.yml cut off at each of its stages and run again: the same end as where nothing happened.

Two hosts go their way at once, from a bare host to the end: the one is cut off until its environments are
there, the other while its job runs. What a cut left is what the next site.yml begins with.
"""

import fcntl
import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lab.labs import WHEELHOUSE, Lab
from lab.wheels import fill_wheelhouse
from runners.plays import play
from way import DISK, Way

from rekindle.records import EnvRecord, RunEnd, VerdictRecord, read_record

CUTS = {
    "builder": (
        "ansible is killed in preflight",
        "ansible is killed while wheels are brought",
        "the link is down for 60 s while wheels are brought",
        "the disk is full while environments build",
        "the power is cut while environments build",
        "ansible is killed while environments build",
        "ansible is killed while the run is collected",
    ),
    "runner": (
        "ansible is killed as the driver has started",
        "ansible is killed in mid-training",
        "the host reboots in mid-training",
        "the disk is full in mid-training",
        "the link is down for 60 s in mid-training",
        "the power is cut while the run is collected",
    ),
}


def bring(way):
    """Cut it off until the wheels are there."""
    torch = max(WHEELHOUSE.glob("*/torch-*.whl"), key=lambda path: path.stat().st_size)
    whole = torch.stat().st_size

    def is_half_brought():
        brought = (way.disk / "cache/wheelhouse").glob(f"*/{torch.name}")
        return any(0 < path.stat().st_size < whole for path in brought)

    way.start()
    way.until(way.connects)
    way.kill()
    assert not (way.home / "host.json").exists()
    way.note()

    way.start()
    way.until(is_half_brought)
    way.kill()
    assert is_half_brought()
    way.note()

    way.start()
    way.until(lambda: is_half_brought() and f"of wheels, {torch.name}" not in way.output)
    way.link_down()
    assert is_half_brought()
    way.until(way.half_built)
    way.note()


def build(way):
    """Cut it off while its environments build, and as its run comes home."""
    bring(way)
    way.fill(way.half_built)
    way.fails("No space left on device.*Fix: ")
    way.empty()
    way.note()

    way.start()
    way.until(way.half_built)
    way.power_cut()
    assert way.half_built()
    way.fails("environments was killed before it could record its end.*Fix: ")
    way.note()

    way.start()
    way.until(way.half_built)
    way.kill()
    begun = (way.disk / "logs/environments/specs.json").stat().st_mtime_ns
    way.start()
    way.until((way.home / "env.json").exists)
    assert (way.disk / "logs/environments/specs.json").stat().st_mtime_ns == begun
    way.note()

    way.is_collected()
    way.kill()
    assert not (way.home / "pt_ddp" / "verdict.json").exists()
    ran = read_record(way.run() / "ended.json", RunEnd)
    way.start()
    way.passes()
    assert read_record(way.home / "pt_ddp" / "ended.json", RunEnd) == ran
    way.note()


def train(way):
    """Cut it off while its job runs, and as that comes home."""
    way.start()
    begun = way.until(way.begun)
    way.kill()
    assert way.round() == 0
    way.note()

    way.start()
    assert way.trains_anew(None) == begun
    way.kill()
    way.start()
    way.passes()
    assert way.begun() == begun
    way.note()

    way.start("-e", "rerun=true")
    begun = way.trains_anew(begun)
    way.reboot()
    way.fails("FAIL|pt_ddp was killed before it could record its end.*Fix: ")
    way.note()

    way.start()
    begun = way.trains_anew(begun)
    way.fill(way.round)
    way.fails("disk|space")
    way.empty()
    way.note()

    way.start()
    way.trains_anew(begun)
    assert not (way.home / "pt_ddp" / "verdict.json").exists()  # the full disk's is not this run's
    way.link_down()
    way.passes()
    way.note()
    collect(way)


def collect(way):
    """Cut it off as a run comes home that is there already."""
    ran = read_record(way.home / "pt_ddp" / "ended.json", RunEnd)
    (way.home / "pt_ddp" / "verdict.json").unlink()
    way.start()
    way.is_collected()
    way.host.cut_power()
    assert way.ended() != 0, way.output
    assert not (way.home / "pt_ddp" / "verdict.json").exists()
    way.host.start()
    way.lab.await_ssh(way.host.name)
    way.start()
    way.passes()
    assert read_record(way.home / "pt_ddp" / "ended.json", RunEnd) == ran
    way.note()


@pytest.fixture(scope="module")
def lab(named):
    """Return a lab of two hosts, each with a disk that can be filled."""
    lab = Lab(named("cuts"))
    disks = []
    try:
        lab.up(CUTS)
        fill_wheelhouse(lab)
        for host in lab.hosts.values():
            host.cut_power()
            disks.append(host.root / "home/lease/rekindle")
            disks[-1].mkdir(exist_ok=True)
            options = f"{DISK},uid=1000,gid=1000,mode=0700"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disks[-1]], check=True)
        lab.up([])
        yield lab
    finally:
        for host in lab.hosts.values():
            host.cut_power()
        for disk in disks:
            subprocess.run(["umount", disk], check=True)
        lab.down()


@pytest.fixture(scope="module")
def ways(lab, small, tmp_path_factory):
    """Return both hosts' ways by name, as far as they came, each with what ended it early."""
    ways = {name: Way(lab, name, cuts, tmp_path_factory.mktemp(name), small) for name, cuts in CUTS.items()}
    with ThreadPoolExecutor() as pool:
        gone = [pool.submit(go, ways[name]) for go, name in ((build, "builder"), (train, "runner"))]
    for way, future in zip(ways.values(), gone, strict=True):
        way.stopped = future.exception()
        print(way.host.name, way.seconds, way.stopped)
        if way.site.poll() is None:
            way.kill()
    return ways


@pytest.fixture(scope="module")
def again(ways, lab, small):
    """Return one more site.yml on both, in which nothing is cut off."""
    assert [way.stopped for way in ways.values()] == [None, None]
    return play("site.yml", lab.inventory, ways["builder"].folder / "again", cwd=small)


@pytest.mark.parametrize(("name", "cut"), [(name, cut) for name, cuts in CUTS.items() for cut in cuts])
def test_it_is_cut_off_there_and_goes_on(ways, name, cut, record_property):
    way = ways[name]
    if cut not in way.seconds:
        pytest.fail(f"{len(way.seconds)} cuts were done, then: {way.stopped!r}\n{way.stopped}")
    record_property("seconds", round(way.seconds[cut], 1))
    print(f"{cut}: {way.seconds[cut]:.0f} s")


def test_what_is_finished_is_changed_no_more(again):
    assert again.status == 0, again.output
    for name in CUTS:
        assert re.search(rf"^{name}\s+: ok=\d+\s+changed=0 ", again.output, re.M), again.output
        assert read_record(again.results / name / "pt_ddp" / "verdict.json", VerdictRecord).verdict == "PASS"


@pytest.mark.parametrize("name", CUTS)
def test_the_host_is_as_one_where_nothing_happened(again, ways, name):
    way = ways[name]
    built = read_record(again.results / name / "env.json", EnvRecord).environments
    assert {path.name for path in (way.disk / "envs").iterdir()} == {
        *(Path(environment.path).name for environment in built),
        *(f".{environment.framework}.lock" for environment in built),
    }
    run = way.run().name
    kept = {path.name for path in (way.disk / "runs").iterdir()}
    # what a killed collector had packed may be another's that goes on: it goes after two hours
    assert {name for name in kept if not re.fullmatch(rf"{run}\.[0-9a-f]{{16}}\.tar\.gz", name)} == {run}
    left = {path.name for path in (way.disk / "tmp").iterdir()}
    assert {
        name for name in left if not re.fullmatch(r"ansible|uv-.*\.lock|torch(elastic|inductor)_.*", name)
    } == set()
    assert list(way.disk.glob("tmp/ansible/*")) == []
    assert [path.name for path in (way.disk / "cache/uv").glob(".tmp*")] == []
    locks = [*way.disk.glob("envs/.*.lock"), way.run() / "driver.lock", way.disk / "logs/environments/lock"]
    for path in locks:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    own = way.ssh("ps -u lease -o args=")
    assert "rekindle" not in own


def test_nothing_was_run_twice(again, ways):
    for name, way in ways.items():
        ran = json.loads((way.home / "pt_ddp" / "ended.json").read_text())
        assert json.loads((again.results / name / "pt_ddp" / "ended.json").read_text()) == ran
