# SPDX-License-Identifier: Apache-2.0
"""The lab itself: boots, leaves nothing behind, and refuses where it cannot be.

Power cuts, reboots and cables are in test_cuts.py, and host keys in test_safety_over_ssh.py.
"""

import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab import LabError
from lab.__main__ import main
from lab.labs import Lab
from lab.slots import slot
from runners.commands import capture_command
from traces import kernel, traces


@pytest.fixture
def lab(named):
    lab = Lab(named("brief"))
    yield lab
    lab.down()


def run(lab, command, user="lease"):
    done = capture_command(lab.ssh(next(iter(lab.hosts)), command, user=user))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("light", [False, True])
def test_what_it_made_is_gone_when_it_is_down(named, light):
    lab = Lab(named("brief"), light=light)
    lab.up(["one", "two"])
    number = lab.number
    assert all(names or light for names in kernel(number))
    assert traces(lab)
    lab.down()
    assert traces(lab) == []
    assert kernel(number) == (set(), set(), set(), set())
    lab.down()


def test_two_runs_have_labs_of_their_own(here):
    """Hosts of the same name reach their own lab alone, and one lab's end is nothing to the other."""
    with slot() as first, slot() as second:
        labs = [Lab(f"{prefix}twin") for prefix in (first, second)]
        try:
            for lab in labs:
                lab.up(["same"])
            addresses = [lab.hosts["same"].address for lab in labs]
            for lab in labs:
                run(lab, f"echo {lab.name} > whose")
            assert [run(lab, "hostname; cat whose") for lab in labs] == [f"same\n{lab.name}" for lab in labs]
            assert "unreachable" in run(labs[0], f"! ip route get {addresses[1]} 2>&1")
            boot = run(labs[1], "cat /proc/sys/kernel/random/boot_id; cut -d ' ' -f 22 /proc/1/stat")
            number = labs[0].number
            labs[0].down()
            assert kernel(number) == (set(), set(), set(), set())
            assert boot == run(labs[1], "cat /proc/sys/kernel/random/boot_id; cut -d ' ' -f 22 /proc/1/stat")
            assert all(kernel(labs[1].number))
        finally:
            for lab in labs:
                lab.down()


KILLED = """
import os, signal
from lab.labs import Lab
from lab.slots import slot
with slot() as prefix:
    lab = Lab(f"{prefix}dead", light=True)
    lab.up(["leased"])
    print(prefix, lab.number, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_is_cleared_by_the_next_that_takes_its_slot(here):
    done = capture_command(
        [sys.executable, "-c", KILLED], env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    prefix, number = done.stdout.split()
    assert all(list(kernel(number))[:3])
    with ExitStack() as slots:
        while slots.enter_context(slot()) != prefix:
            pass
        assert traces(Lab(f"{prefix}dead")) == []
        assert kernel(number) == (set(), set(), set(), set())


def test_up_again_changes_nothing(lab):
    lab.up(["one"])
    boot = run(lab, "cat /proc/sys/kernel/random/boot_id; cut -d ' ' -f 22 /proc/1/stat")
    lab.up(["one"])
    assert run(lab, "cat /proc/sys/kernel/random/boot_id; cut -d ' ' -f 22 /proc/1/stat") == boot


def test_light_hosts_have_a_disk_processes_and_a_name_of_their_own_and_no_systemd(named, tmp_path):
    (tmp_path / "given").write_text("here")
    lab = Lab(named("brief"), light=True, disk=tmp_path)
    try:
        lab.up(["one", "two"])
        run(lab, "echo kept > kept")
        lab.hosts["one"].cut_power()
        lab.up([])
        assert run(lab, "hostname; cat kept /given") == "one\nkept\nhere"
        assert "sshd" in run(lab, "cat /proc/1/cmdline")
        assert not (lab.hosts["two"].root / "home/lease/kept").exists()
    finally:
        lab.down()


def test_a_user_as_on_a_lease_and_root_for_the_tests(lab):
    lab.up(["one"])
    assert run(lab, "id -un; id -Gn") == "lease\nlease"
    assert "password is required" in run(lab, "! sudo -n true 2>&1")
    assert run(lab, "id -u", user="root") == "0"
    assert run(lab, "hostname; python3 --version").startswith("one\nPython 3.11.")
    assert run(lab, "systemctl is-system-running") == "running"


@pytest.mark.parametrize(
    ("lacking", "instead", "message"),
    [
        ("os.geteuid", lambda: 1000, "A lab needs root, "),
        ("platform.system", lambda: "Darwin", "This kernel has no overlayfs. "),
        ("lab.machine.CGROUPS", (), "No unified cgroup hierarchy is mounted. "),
        ("lab.machine.apt_sources", list, "This machine's apt has no source for Debian's bookworm. "),
    ],
)
def test_where_it_cannot_be_it_is_refused_in_a_sentence(monkeypatch, capsys, lacking, instead, message):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(lacking, instead)
    for verb in (["up", "1"], ["down"]):
        monkeypatch.setattr("sys.argv", ["lab", "--lab", "nowhere", *verb])
        assert main() == 1
        printed = capsys.readouterr().err
        assert printed.startswith(message)
        assert printed.count("Fix: ") == printed.count("\n") == 1


@pytest.mark.parametrize("name", ["..", "/etc", "", "a b", "-x", "$(id)"])
def test_a_name_that_could_be_a_path_is_refused(here, lab, name):
    with pytest.raises(LabError, match=r"is no name for a lab or a host\. Fix: "):
        Lab(name)
    with pytest.raises(LabError, match=r"is no name for a lab or a host\. Fix: "):
        lab.up([name])
