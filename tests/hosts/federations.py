# SPDX-License-Identifier: Apache-2.0
"""A federation in the lab: a server and three sites, and a play in whose job something happens."""

import os
import signal
import subprocess
import time
from pathlib import Path

from runners.commands import capture_command
from runners.plays import HANGS_S

from rekindle.records import VerdictRecord, read_record

SERVER, *SITES = HOSTS = ("server", "one", "two", "three")
SSH_FAILED = 255
LISTENS = "grep -i ': [0-9a-f]*:1F42 [0-9a-f:]* 0A ' /proc/net/tcp /proc/net/tcp6"
"""Who listens at port 8002, the federation's."""
LONG = ("-e", '{"rekindle_job_arguments": {"pt_ddp": {"local_epoch": 10}}}')
"""Rounds of some ten seconds, as one of more than eight epochs sleeps for a second in each."""
EPOCH = "            sampler.set_epoch("
AGAIN = ("-e", "rerun=true")
MIN_SITES = ("-e", "rekindle_federation_min_sites=2")


def verdict_in(results):
    return read_record(Path(results) / "federations/pt_ddp/verdict.json", VerdictRecord)


def root(lab, host, command):
    """Return what a command of root's prints on a host, whatever its status; ssh itself has to work."""
    done = capture_command(lab.ssh(host, command, user="root"))
    assert done.returncode != SSH_FAILED, done.stderr
    return done.stdout.strip()


def kill(lab, host, module):
    """Kill the process on a host that runs this module of Python's."""
    (pid, *_) = root(lab, host, f"pgrep -f -- '-m {module}'").split()
    root(lab, host, f"kill -KILL {pid}")


class Going:
    """federate.yml, during whose job something happens."""

    def __init__(self, lab, shop, folder):
        self.lab, self._shop = lab, shop
        self.results, self._log = folder / "results", folder / "log"

    def start(self, *more, seen="two pt_ddp: round 1/3"):
        """Run the command, until its output has ``seen``."""
        command = ["ansible-playbook", "playbooks/federate.yml", "-i", self.lab.inventory, *LONG, *more]
        with self._log.open("w") as log:
            self._play = subprocess.Popen(
                [*command, "-e", f"rekindle_results={self.results}"],
                cwd=self._shop,
                env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        ends = time.monotonic() + HANGS_S
        while seen not in self.output:
            assert self._play.poll() is None, self.output
            assert time.monotonic() < ends, self.output
            time.sleep(0.1)
        self.since = time.monotonic()
        return self

    def kill(self):
        """Kill the command and all that it started here."""
        os.killpg(self._play.pid, signal.SIGKILL)
        self._play.wait()

    @property
    def output(self):
        return self._log.read_text()

    def ended(self, status=2):
        """Return the verdict, and how many seconds after the first round the play ended."""
        assert self._play.wait(HANGS_S) == status, self.output
        assert "Traceback" not in self.output
        return verdict_in(self.results), time.monotonic() - self.since
