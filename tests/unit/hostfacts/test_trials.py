# SPDX-License-Identifier: Apache-2.0
"""What the collector tries: each job's needs, on machines and logins that lack them."""

import os
import re
from pathlib import Path

import pytest
from runners.commands import capture_command

from rekindle.hostfacts.frames import COLLECTOR, Frame, parse_frames
from rekindle.hostfacts.system import read_memory


def test_what_each_job_needs_is_there(collect):
    needs = {f"need-{what}": Frame("0", "") for what in NEEDS}
    frames = collect(*needs, tmpdir="/tmp/t")
    assert {name: frames[name] for name in needs} == needs


def collect_after(setup, folder, *probes):
    """Return the frames of a collector that starts after ``setup``, in a mount namespace of its own."""
    token = f"n{os.getpid()}"  # it names a folder in /dev/shm, which other tests' collectors have too
    collector = ("dash", "-s", "--", token, f"{folder}/r", f"{folder}/t", "20", *probes)
    done = capture_command(
        ["unshare", "--mount", "sh", "-c", f'{setup}\nexec "$@"', "sh", *collector],
        stdin=COLLECTOR.open(),
        check=True,
        cwd=folder,
    )
    return parse_frames(done.stdout, token)


CARD = """
mkdir dev && mount --rbind /dev dev && mount -t tmpfs none /dev && ln -s "$PWD"/dev/* /dev
mkdir /dev/infiniband && touch /dev/infiniband/uverbs0
"""


NEEDS = {
    "files": "Too many open files",
    "locked": "Cannot allocate memory",
    "threads": "can't start new thread",
    "loopback": "",
    "semaphore": "",
    "tmp": "Read-only file system",
    "name": "AF_UNIX path too long",
}


@pytest.mark.skipif(os.getuid() != 0, reason="mounts, and makes namespaces, which root can alone")
@pytest.mark.parametrize(
    ("before", "need"),
    [
        ("ulimit -n 200", "files"),
        ('exec setpriv --reuid 4711 --clear-groups prlimit --nproc=60 "$@"', "threads"),
        (f'{CARD}exec setpriv --bounding-set -ipc_lock prlimit --memlock=65536 "$@"', "locked"),
        ('exec unshare --net "$@"', "loopback"),
        ("printf '127.0.0.1 here\\n' >hosts; mount --bind hosts /etc/hosts", "loopback"),
        ("mount -t tmpfs -o ro none /dev/shm", "semaphore"),
        ("mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp", "tmp"),  # the clone may lie there
    ],
)
def test_what_each_job_needs_is_missed(tmp_path, before, need):
    frame = collect_after(before, tmp_path, f"need-{need}")[f"need-{need}"]
    assert frame.status == "6"
    assert NEEDS[need] in frame.text


@pytest.mark.skipif(os.getuid() != 0, reason="mounts, which root can alone")
@pytest.mark.parametrize(
    ("before", "probe", "status", "says"),
    [
        (
            "sed 's/sse4_2//' /proc/cpuinfo >cpu; mount --bind cpu /proc/cpuinfo",
            "need-instructions",
            "6",
            "sse4_2",
        ),
        (
            "sed 's/avx512f//' /proc/cpuinfo >cpu; mount --bind cpu /proc/cpuinfo",
            "need-instructions",
            "0",
            "",
        ),
        ("ulimit -d 300000", "need-threads", "0", ""),
        ("export OMP_NUM_THREADS=0x OMP_THREAD_LIMIT=1", "cores", "0", str(len(os.sched_getaffinity(0)))),
        ("mkdir r; mount -t tmpfs -o size=1g none r", "disk-root", "0", "in memory"),
        ("mount -t tmpfs -o ro none /srv; ln -s /srv r", "root", "1", "why Read-only file system"),
        ("ln -s /nowhere r", "root", "1", "why it leads to /nowhere, which is not there"),
        ("export HOME=$PWD/gone; ln -s gone/r r", "root", "1", "why it leads to gone/r, which is not there"),
        ("export PYTHONHOME=/nowhere", "astray", "6", "PYTHONHOME=/nowhere"),
        ("mkdir p; echo 1/0 >p/json.py; export PYTHONPATH=$PWD/p", "astray", "6", "PYTHONPATH="),
        ("mkdir p; export PYTHONPATH=$PWD/p", "astray", "0", ""),
    ],
)
def test_what_a_login_or_a_machine_lacks_is_named(tmp_path, before, probe, status, says):
    frame = collect_after(before, tmp_path, probe)[probe]
    assert (frame.status, says in frame.text) == (status, True)


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user, which root can alone")
def test_a_home_that_is_not_there_is_why_nothing_can_be_made_in_it(tmp_path):
    setup = 'HOME=/nonexistent exec setpriv --reuid 65534 --clear-groups "$1" "$2" "$3" "$4" "~/r" /t 20 root'
    assert "why the home folder /nonexistent does not exist" in collect_after(setup, tmp_path)["root"].text


@pytest.mark.skipif(os.getuid() != 0, reason="mounts, which root can alone")
def test_memory_can_be_locked_by_a_login_that_may(tmp_path):
    assert collect_after(CARD, tmp_path, "need-locked")["need-locked"] == Frame("0", "")


GROUP = """
mount -t tmpfs none /sys/fs/cgroup && group=/sys/fs/cgroup
echo {limit} >$group/memory.max; echo 1610612736 >$group/memory.current
echo inactive_file 536870912 >$group/memory.stat
"""


@pytest.mark.skipif(os.getuid() != 0, reason="mounts, which root can alone")
@pytest.mark.parametrize(("limit", "found"), [("2147483648", 1024), ("max", None)])
def test_a_limit_of_the_group_counts_as_the_memory_that_is_free(tmp_path, limit, found):
    frames = collect_after(GROUP.format(limit=limit), tmp_path, "memory")
    given = re.findall(r"^GroupAvailable: (\d+) kB$", frames["memory"].text, re.MULTILINE)
    assert given == ([f"{found << 10}"] if found else [])
    assert (read_memory(frames).available_mib == 1024) is bool(found)


SHARE = "mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/cpu && group=/sys/fs/cgroup\n"


ALL = len(os.sched_getaffinity(0))


@pytest.mark.skipif(
    os.getuid() != 0 or ALL < 2, reason="mounts, which root can alone, and shares two processors"
)
@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("echo max 100000 >$group/cpu.max", ALL),
        ("echo 100000 100000 >$group/cpu.max", 1),
        ("echo 1000 100000 >$group/cpu.max", 1),
        ("echo 0 0 >$group/cpu.max", ALL),
        (f"echo {ALL - 1}50000 100000 >$group/cpu.max", ALL),
    ],
)
def test_a_share_of_processors_counts_as_those_that_there_are(tmp_path, given, found):
    frame = collect_after(SHARE + given, tmp_path, "cores")["cores"]
    assert min(map(int, frame.text.split())) == found


@pytest.mark.skipif(os.getuid() != 0, reason="mounts, which root can alone")
@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here")
def test_a_localhost_of_ipv6_alone_is_enough(tmp_path):
    """pt_ddp passes there: what listens for ranks listens on both."""
    hosts = "printf '::1 localhost\\n' >hosts; mount --bind hosts /etc/hosts"
    assert collect_after(hosts, tmp_path, "need-loopback")["need-loopback"] == Frame("0", "")


def test_a_shim_without_its_python_says_nothing_of_the_host(collect, fake):
    fake("nvidia-smi", "exit 6")
    fake("python3", "echo 'pyenv: python3: command not found' >&2; exit 127")
    probes = ("cuda", *(f"need-{what}" for what in NEEDS))
    frames = collect(*probes)
    assert {name: frames[name].status for name in probes} == dict.fromkeys(probes, "0")


def test_a_tmpdir_too_long_for_a_socket_is_seen(collect):
    assert NEEDS["name"] in collect("need-name", tmpdir=f"/tmp/{'long/' * 12}")["need-name"].text
    assert collect("need-name", tmpdir=f"/tmp/{'long/' * 6}")["need-name"].answered
