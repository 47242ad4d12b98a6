"""The lab itself: boots, reboots, loses power, leaves nothing behind, and refuses where it cannot be."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from lab import STATE, LabError
from lab.__main__ import main
from lab.labs import Lab
from lab.machine import cgroups

NAME = "brief"


def traces():
    """Return the files, mounts and processes of the lab."""
    found = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f"/{NAME}/" in line]
    for folder in (STATE, Path("/run/systemd/nspawn/propagate"), Path("/run/systemd/nspawn/unix-export")):
        found += [str(path) for path in folder.glob(f"{NAME}*")]
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if f"/{NAME}/" in line:
            found.append(line)
    return found


def kernel():
    """Return the names of all links, network namespaces and cgroups for labs."""
    links = {path.name for path in Path("/sys/class/net").iterdir()}
    namespaces = {path.name for path in Path("/run/netns").glob("*")}
    trees = (cgroups(), Path("/sys/fs/cgroup/systemd"))
    return links, namespaces, {str(path) for tree in trees for path in tree.glob("rekindle-lab/**")}


@pytest.fixture
def lab(here):
    lab = Lab(NAME)
    yield lab
    lab.down()


def run(lab, command, user="lease"):
    done = subprocess.run(
        lab.ssh(f"{NAME}-1", command, user=user), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("light", [False, True])
def test_what_it_made_is_gone_when_it_is_down(here, light):
    lab = Lab(NAME, light=light)
    before = kernel()
    lab.up([f"{NAME}-1", f"{NAME}-2"])
    assert all(now > then for now, then in zip(kernel(), before, strict=True))
    assert traces()
    lab.down()
    assert traces() == []
    assert kernel() == before
    lab.down()


def test_up_again_changes_nothing(lab):
    lab.up([f"{NAME}-1"])
    boot = run(lab, "cat /proc/sys/kernel/random/boot_id; cut -d ' ' -f 22 /proc/1/stat")
    lab.up([f"{NAME}-1"])
    assert run(lab, "cat /proc/sys/kernel/random/boot_id; cut -d ' ' -f 22 /proc/1/stat") == boot


def test_light_hosts_have_a_disk_processes_and_a_name_of_their_own_and_no_systemd(here, tmp_path):
    (tmp_path / "given").write_text("here")
    lab = Lab(NAME, light=True, disk=tmp_path)
    try:
        lab.up([f"{NAME}-1", f"{NAME}-2"])
        run(lab, "echo kept > kept")
        lab.hosts[f"{NAME}-1"].cut_power()
        lab.up([])
        assert run(lab, "hostname; cat kept /given") == f"{NAME}-1\nkept\nhere"
        assert "sshd" in run(lab, "cat /proc/1/cmdline")
        assert not (lab.hosts[f"{NAME}-2"].root / "home/lease/kept").exists()
    finally:
        lab.down()


def test_a_user_as_on_a_lease_and_root_for_the_tests(lab):
    lab.up([f"{NAME}-1"])
    assert run(lab, "id -un; id -Gn") == "lease\nlease"
    assert "password is required" in run(lab, "! sudo -n true 2>&1")
    assert run(lab, "id -u", user="root") == "0"
    assert run(lab, "hostname; python3 --version").startswith(f"{NAME}-1\nPython 3.11.")
    assert run(lab, "systemctl is-system-running") == "running"


def test_it_comes_back_from_a_reboot_and_from_a_power_cut_with_its_disk(lab):
    lab.up([f"{NAME}-1"])
    run(lab, "echo kept > kept; sync")
    ansible = [Path(sys.executable).with_name("ansible"), "all", "-i", lab.inventory, "-u", "root"]
    done = subprocess.run(
        [*ansible, "-m", "ansible.builtin.reboot"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert run(lab, "cat kept; ls /run/nologin 2>&1 | tail -n 1").startswith("kept")
    lab.hosts[f"{NAME}-1"].cut_power()
    assert not lab.hosts[f"{NAME}-1"].running
    lab.up([])
    assert run(lab, "cat kept") == "kept"


def test_a_pulled_cable_cuts_it_off_until_it_is_plugged_in(lab):
    lab.up([f"{NAME}-1"])
    lab.hosts[f"{NAME}-1"].set_link(up=False)
    assert subprocess.run(lab.ssh(f"{NAME}-1", "true"), capture_output=True, check=False).returncode == 255
    lab.hosts[f"{NAME}-1"].set_link(up=True)
    lab.await_ssh(f"{NAME}-1")


def test_a_host_with_another_key_is_not_believed(lab):
    lab.up([f"{NAME}-1", f"{NAME}-2"])
    first, second = lab.hosts.values()
    known = (lab.folder / "known_hosts").read_text()
    (lab.folder / "known_hosts").write_text(known.replace(first.host_key, second.host_key))
    done = subprocess.run(lab.ssh(first.name, "true"), capture_output=True, text=True, check=False)
    assert done.returncode == 255
    assert "Host key verification failed" in done.stderr


@pytest.mark.parametrize(
    ("lacking", "instead", "says"),
    [
        ("os.geteuid", lambda: 1000, "A lab needs root, "),
        ("platform.system", lambda: "Darwin", "This kernel has no overlayfs. "),
        ("lab.machine.CGROUPS", (), "No unified cgroup hierarchy is mounted. "),
        ("lab.machine.apt_sources", list, "This machine's apt has no source for Debian's bookworm. "),
    ],
)
def test_where_it_cannot_be_it_says_so_in_a_sentence(monkeypatch, capsys, lacking, instead, says):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(lacking, instead)
    for verb in (["up", "1"], ["down"]):
        monkeypatch.setattr("sys.argv", ["lab", "--lab", NAME, *verb])
        assert main() == 1
        said = capsys.readouterr().err
        assert said.startswith(says)
        assert said.count("Fix: ") == said.count("\n") == 1


@pytest.mark.parametrize("name", ["..", "/etc", "", "a b", "-x", "$(id)"])
def test_a_name_that_could_be_a_path_is_refused(here, lab, name):
    with pytest.raises(LabError, match=r"is no name for a lab or a host\. Fix: "):
        Lab(name)
    with pytest.raises(LabError, match=r"is no name for a lab or a host\. Fix: "):
        lab.up([name])
