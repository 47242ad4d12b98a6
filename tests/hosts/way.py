# SPDX-License-Identifier: Apache-2.0
"""A host that has site.yml run on it over and over, and what cuts it off."""

import os
import re
import subprocess
import time
from contextlib import suppress

import psutil
from runners.commands import capture_command
from runners.plays import HANGS_S

from rekindle.records import Progress, RecordError, read_record

_DOWN_S = 60
DISK = "size=8g"


class Way:
    """What happens to one host: site.yml on it, over and over, and what cuts it off."""

    def __init__(self, lab, name, cuts, folder, shop):
        self.lab, self.host, self.folder, self.shop = lab, lab.hosts[name], folder, shop
        self.disk = self.host.root / "home/lease/rekindle"
        self.results = folder / "results"
        self.home = self.results / name
        self.log, self.site, self.started = folder / "0.log", None, 0.0
        self.left, self.seconds, self.began = iter(cuts), {}, time.monotonic()

    def start(self, *more):
        """Start site.yml, as a user does, in a process group of its own."""
        self.log, self.started = self.folder / f"{int(self.log.stem) + 1}.log", time.time()
        with self.log.open("w") as log:
            self.site = subprocess.Popen(
                [
                    *("ansible-playbook", "site.yml", "-i", self.lab.inventory),
                    *("-l", f"{self.host.name},localhost", "-e", f"rekindle_results={self.results}", *more),
                ],
                cwd=self.shop,
                env={**os.environ, "ANSIBLE_NOCOLOR": "1", "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def output(self):
        return self.log.read_text()

    def until(self, seen, *, runs=True):
        """Wait until ``seen()``, while site.yml still ``runs``, and return it."""
        ends = time.monotonic() + HANGS_S
        while not (found := seen()):
            assert not runs or self.site.poll() is None, (
                f"site.yml ended before it could be cut off:\n{self.output}"
            )
            assert time.monotonic() < ends, f"not seen within {HANGS_S} s:\n{self.output}"
            time.sleep(0.03)
        return found

    def below(self):
        """Return ansible-playbook's workers, each of which leads a session, and their ssh."""
        return psutil.Process(self.site.pid).children(recursive=True)

    def connects(self):
        """Return whether ansible-playbook's ssh runs; a worker may end while it is looked at."""
        for process in self.below():
            with suppress(psutil.NoSuchProcess):
                if process.name() == "ssh":
                    return True
        return False

    def kill(self):
        """Kill ansible-playbook and all below it with no time for a word."""
        for process in (psutil.Process(self.site.pid), *self.below()):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.site.wait()

    def ended(self):
        """Wait until site.yml ends by itself, and return its status."""
        try:
            return self.site.wait(HANGS_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end within {HANGS_S} s:\n{self.output}") from None

    def passes(self):
        assert self.ended() == 0, self.output

    def fails(self, why):
        """Wait until site.yml says in a sentence why it failed."""
        assert self.ended() != 0, self.output
        printed = " ".join(self.output.split())
        assert re.search(why, printed), self.output
        assert "Traceback" not in printed, self.output

    def ssh(self, command, user="lease"):
        """Return what a command says on the host; nothing if it fails or the host is away."""
        done = capture_command(self.lab.ssh(self.host.name, command, user=user))
        return done.stdout if done.returncode == 0 else ""

    def link_down(self):
        """Pull the cable, and plug it in after a minute."""
        self.host.set_link(up=False)
        time.sleep(_DOWN_S)
        self.host.set_link(up=True)

    def reboot(self):
        """Have the host reboot, and wait until it is there again."""
        process_1 = "cut -d' ' -f 22 /proc/1/stat"
        before = self.until(lambda: self.ssh(process_1))
        self.until(lambda: self.ssh("systemctl reboot && echo reboots", user="root"))
        self.until(lambda: self.ssh(process_1) not in {"", before}, runs=False)

    def power_cut(self):
        """Cut the power, and switch the host on again."""
        self.host.cut_power()
        self.host.start()
        self.lab.await_ssh(self.host.name)

    def fill(self, during):
        """Leave nothing of the disk ``during`` something."""
        with self.host.still():
            assert during()
            space = os.statvfs(self.disk)
            self.remount(f"size={(space.f_blocks - space.f_bfree) * space.f_frsize}")

    def empty(self):
        """Leave it as large as it was."""
        self.remount(DISK)

    def remount(self, size):
        """Give the disk a size into which what is there fits."""
        subprocess.run(["mount", "-o", f"remount,{size}", self.disk], check=True)

    def half_built(self):
        """Return whether torch's environment is being built, since site.yml was started for the last time."""
        begun = self.disk.glob("envs/.torch-*.building/pyvenv.cfg")
        return any(path.stat().st_mtime > self.started for path in begun)

    def run(self):
        """Return the folder of the one run."""
        (found,) = [path for path in self.disk.glob("runs/*") if path.is_dir()]
        return found

    def round(self):
        """Return which round the job is in, from 1; 0 before."""
        try:
            message = read_record(self.run() / "progress.json", Progress).message
        except (RecordError, ValueError):
            return 0
        found = re.match(r"round (\d)/3", message)
        return int(found[1]) if found and "ended" not in message else 0

    def begun(self):
        """Return what tells one start of the job from another."""
        try:
            return (self.run() / "spec.json").stat().st_mtime_ns
        except (OSError, ValueError):
            return None

    def trains_anew(self, before):
        """Wait until the job, which was started ``before``, is in training for another time."""
        self.until(lambda: self.begun() not in {None, before} and self.round() >= 1)
        assert not (self.run() / "ended.json").exists()
        return self.begun()

    def is_collected(self):
        """Wait until the run is being packed to come home, where nothing of it is."""
        self.until(lambda: any(self.disk.glob("runs/*.tar.gz")))

    def note(self):
        """Note how long the next of its cuts took, and all that came of it."""
        now = time.monotonic()
        self.seconds[next(self.left)] = now - self.began
        self.began = now
