"""site.yml cut off at each of its stages and run again: the same end as where nothing happened.

Two hosts go their way at once, from a bare host to the end: the one is cut off until its environments are
there, the other while its job runs. What a cut left is what the next site.yml begins with.
"""

import fcntl
import json
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lab.labs import WHEELHOUSE, Lab
from lab.wheels import fill_wheelhouse
from plays import REPOSITORY, play

from rekindle.records import Ended, EnvRecord, Progress, RecordError, VerdictRecord, read

CUTS = {
    "builder": (
        "ansible is killed in preflight",
        "ansible is killed while wheels are brought",
        "the link is down for 60 s while wheels are brought",
        "the disk is full while environments build",
        "the power is cut while environments build",
        "the host reboots while environments build",
        "ansible is killed while environments build",
        "ansible is killed while the run is collected",
    ),
    "runner": (
        "ansible is killed as the driver has started",
        "ansible is killed in mid-training",
        "the host reboots in mid-training",
        "the disk is full in mid-training",
        "the power is cut in mid-training",
        "the link is down for 60 s in mid-training",
        "the power is cut while the run is collected",
    ),
}
_DOWN_S = 60
_DISK = "size=4g"


class Way:
    """What happens to one host: site.yml on it, over and over, and what cuts it off."""

    def __init__(self, lab, name, folder):
        self.lab, self.host, self.folder = lab, lab.hosts[name], folder
        self.disk = self.host.root / "home/lease/rekindle"
        self.results = folder / "results"
        self.home = self.results / name
        self.log, self.site, self.began, self.seconds = folder / "0.log", None, time.monotonic(), {}

    def start(self):
        """Start site.yml, as a user does, in a process group of its own."""
        self.log = self.folder / f"{int(self.log.stem) + 1}.log"
        with self.log.open("w") as log:
            self.site = subprocess.Popen(
                [
                    *("ansible-playbook", "site.yml", "-i", self.lab.inventory),
                    *("-l", f"{self.host.name},localhost", "-e", f"rekindle_results={self.results}"),
                ],
                cwd=REPOSITORY,
                env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def output(self):
        return self.log.read_text()

    def until(self, seen, within_s=180):
        """Wait until ``seen()`` while site.yml runs, and return it."""
        ends = time.monotonic() + within_s
        while not (found := seen()):
            assert self.site.poll() is None, f"site.yml ended before it could be cut off:\n{self.output}"
            assert time.monotonic() < ends, f"not seen within {within_s} s:\n{self.output}"
            time.sleep(0.01)
        return found

    def task(self, name):
        """Wait until a task begins."""
        self.until(lambda: f": {name}]" in self.output)

    def kill(self):
        """Kill ansible-playbook with no time for a word."""
        os.killpg(self.site.pid, signal.SIGKILL)
        self.site.wait()

    def ended(self, within_s=180):
        """Wait until site.yml ends by itself, and return its status."""
        try:
            return self.site.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end within {within_s} s:\n{self.output}") from None

    def passes(self):
        assert self.ended() == 0, self.output

    def fails(self, why, within_s):
        """Wait until site.yml says in a sentence why it failed."""
        assert self.ended(within_s) != 0, self.output
        said = " ".join(self.output.split())
        assert re.search(why, said), self.output
        assert "Traceback" not in said, self.output

    def ssh(self, command, user="lease"):
        return subprocess.run(
            self.lab.ssh(self.host.name, command, user=user), capture_output=True, text=True, check=False
        ).stdout

    def boot(self):
        """Return what tells one boot of the host from another."""
        return self.ssh("cat /proc/sys/kernel/random/boot_id; stat -c %Z /proc/1")

    def link_down(self):
        """Pull the cable, and plug it in after a minute."""
        self.host.set_link(up=False)
        time.sleep(_DOWN_S)
        self.host.set_link(up=True)

    def reboot(self):
        before = self.boot()
        self.ssh("systemctl reboot", user="root")
        self.until(lambda: (now := self.boot()) and now != before)

    def power_cut(self):
        """Cut the power, and switch the host on again."""
        self.host.cut_power()
        self.host.start()
        self.lab.await_ssh(self.host.name)

    def fill(self):
        """Leave 1 MiB of the disk."""
        space = os.statvfs(self.disk)
        used = (space.f_blocks - space.f_bfree) * space.f_frsize
        self.remount(f"size={used + (1 << 20)}")

    def remount(self, size):
        subprocess.run(["mount", "-o", f"remount,{size}", self.disk], check=True)

    def half_built(self):
        """Return the folder in which torch's environment is being built."""
        return next(self.disk.glob("envs/.torch-*.building"), None)

    def run(self):
        """Return the folder of the one run."""
        (found,) = [path for path in self.disk.glob("runs/*") if path.is_dir()]
        return found

    def round(self):
        """Return which round the job is in, from 1; 0 before."""
        try:
            says = read(self.run() / "progress.json", Progress).says
        except (RecordError, ValueError):
            return 0
        found = re.match(r"round (\d)/3", says)
        return int(found[1]) if found and "ended" not in says else 0

    def in_training(self):
        """Wait until the job is in training for the ``start`` that was the last."""
        self.until(lambda: self.round() >= 1)
        assert not (self.run() / "ended.json").exists()

    def note(self, cut):
        now = time.monotonic()
        self.seconds[cut] = now - self.began
        self.began = now


def build(way):
    """Cut it off until its environments are there."""
    notes = iter(CUTS["builder"])
    torch = max(WHEELHOUSE.glob("*/torch-*.whl"), key=lambda path: path.stat().st_size)
    brought = way.disk / "cache/wheelhouse" / torch.parent.name / torch.name

    def is_half_brought():
        return brought.exists() and 0 < brought.stat().st_size < torch.stat().st_size

    way.start()
    way.task("Find out what the host is, in one round trip")
    way.kill()
    assert not (way.home / "host.json").exists()
    way.note(next(notes))

    way.start()
    way.until(is_half_brought)
    way.kill()
    assert is_half_brought()
    way.note(next(notes))

    way.start()
    way.until(lambda: is_half_brought() and f"of wheels, {torch.name}" not in way.output)
    way.link_down()
    assert is_half_brought()
    way.until(way.half_built)
    way.note(next(notes))

    way.fill()
    assert way.half_built()
    way.fails("No space left on device.*Fix: ", 60)
    way.remount(_DISK)
    way.note(next(notes))

    way.start()
    way.until(way.half_built)
    way.power_cut()
    assert way.half_built()
    way.fails("environments was killed before it could say how it ended.*Fix: ", 60)
    way.note(next(notes))

    way.start()
    way.until(way.half_built)
    way.reboot()
    way.fails("environments was killed before it could say how it ended.*Fix: ", 60)
    way.note(next(notes))

    way.start()
    way.until(way.half_built)
    way.kill()
    begun = (way.disk / "logs/environments/specs.json").stat().st_mtime_ns
    way.start()
    way.task("Save env.json and its locks")
    assert (way.disk / "logs/environments/specs.json").stat().st_mtime_ns == begun
    way.note(next(notes))

    way.task("Bring home pt_ddp")
    way.kill()
    assert not (way.home / "pt_ddp" / "verdict.json").exists()
    ran = read(way.run() / "ended.json", Ended)
    way.start()
    way.passes()
    assert read(way.home / "pt_ddp" / "ended.json", Ended) == ran
    way.note(next(notes))


def train(way):
    """Cut it off while its job runs."""
    notes = iter(CUTS["runner"])
    way.start()
    way.until(lambda: any(way.disk.glob("runs/*/spec.json")), 300)
    way.kill()
    begun = (way.run() / "spec.json").stat().st_mtime_ns
    assert way.round() == 0
    way.note(next(notes))

    way.start()
    way.task("Follow pt_ddp")
    way.in_training()
    way.kill()
    assert (way.run() / "spec.json").stat().st_mtime_ns == begun
    way.note(next(notes))

    way.start()
    way.until(lambda: "pt_ddp: round" in way.output)
    way.in_training()
    assert (way.run() / "spec.json").stat().st_mtime_ns == begun
    way.reboot()
    way.fails("FAIL|pt_ddp was killed before it could say how it ended.*Fix: ", 60)
    way.note(next(notes))

    way.start()
    way.task("Follow pt_ddp")
    way.in_training()
    way.fill()
    way.fails("disk|space", 90)
    way.remount(_DISK)
    way.note(next(notes))

    way.start()
    way.task("Follow pt_ddp")
    way.in_training()
    way.power_cut()
    way.fails("pt_ddp was killed before it could say how it ended.*Fix: ", 60)
    way.note(next(notes))

    way.start()
    way.task("Follow pt_ddp")
    way.in_training()
    way.link_down()
    way.passes()
    ran = read(way.home / "pt_ddp" / "ended.json", Ended)
    assert read(way.run() / "ended.json", Ended) == ran
    way.note(next(notes))

    (way.home / "pt_ddp" / "verdict.json").unlink()
    way.start()
    way.task("Bring home pt_ddp")
    way.host.cut_power()
    assert way.ended(120) != 0, way.output
    assert not (way.home / "pt_ddp" / "verdict.json").exists()
    way.host.start()
    way.lab.await_ssh(way.host.name)
    way.start()
    way.passes()
    assert read(way.home / "pt_ddp" / "ended.json", Ended) == ran
    way.note(next(notes))


@pytest.fixture(scope="module")
def lab(here):
    """Return a lab of two hosts, each with a disk that can be filled."""
    lab = Lab("cuts")
    disks = []
    try:
        lab.up(CUTS)
        fill_wheelhouse(lab)
        for host in lab.hosts.values():
            host.cut_power()
            disks.append(host.root / "home/lease/rekindle")
            disks[-1].mkdir(exist_ok=True)
            options = f"{_DISK},uid=1000,gid=1000,mode=0700"
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
def ways(lab, tmp_path_factory):
    """Return both hosts' ways by name, as far as they came, each with what ended it early."""
    ways = {name: Way(lab, name, tmp_path_factory.mktemp(name)) for name in CUTS}
    with ThreadPoolExecutor() as pool:
        gone = [pool.submit(go, ways[name]) for go, name in ((build, "builder"), (train, "runner"))]
    for way, future in zip(ways.values(), gone, strict=True):
        way.stopped = future.exception()
        if way.site.poll() is None:
            way.kill()
    return ways


@pytest.fixture(scope="module")
def again(ways, lab):
    """Return one more site.yml on both, in which nothing is cut off."""
    assert [way.stopped for way in ways.values()] == [None, None]
    return play("site.yml", lab.inventory, ways["builder"].folder / "again")


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
        assert read(again.results / name / "pt_ddp" / "verdict.json", VerdictRecord).verdict == "PASS"


@pytest.mark.parametrize("name", CUTS)
def test_the_host_is_as_one_where_nothing_happened(again, ways, name):
    way = ways[name]
    built = read(again.results / name / "env.json", EnvRecord).environments
    assert {path.name for path in (way.disk / "envs").iterdir()} == {
        *(Path(one.path).name for one in built),
        *(f".{one.framework}.lock" for one in built),
    }
    run = way.run().name
    assert {path.name for path in (way.disk / "runs").iterdir()} == {run, f"{run}.tar.gz"}
    assert [path.name for path in (way.disk / "tmp").rglob("*")] == []
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
