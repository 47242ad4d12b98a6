# SPDX-License-Identifier: Apache-2.0
"""The collector itself, run by dash with stand-ins for nvidia-smi and the home."""

import fcntl
import os
import platform
import pwd
import re
import secrets
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest
from answers import XML
from msgspec.structs import replace
from runners.commands import capture_command
from samples.mig_hosts import cut_gpus, list_instances, name_instance

from rekindle.gpus.choice import choose_gpus
from rekindle.host import paths
from rekindle.host.folders import OURS
from rekindle.hostfacts.frames import COLLECTOR, FactsError, Frame, PartialFrames, parse_frames
from rekindle.hostfacts.record import read_host
from rekindle.jobs import load_job
from rekindle.jobs.placement import assign_gpus

OF_EVERY_HOST = ("home", "uid", "kernel", "architecture", "cores", "memory")
"""Probes without which there is no record."""
OF_PIP = tuple(f"pip-{file}" for file in ("env", "xdg", "etc", "legacy", "user", "file"))
GPU_PROBES = ("nvidia-smi", "nvidia-query", "nvidia-list", "nvidia-topo", "nvidia-nvlink")


def alive(marker):
    """Command lines of processes that carry ``marker``."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it ended meanwhile
            continue
        if marker in line:
            found.append(line)
    return found


def test_it_leaves_no_bytecode_with_the_pythons_that_it_asks(collect, tmp_path):
    venv.create(tmp_path / "venv")
    (packages,) = (tmp_path / "venv").glob("lib/*/site-packages")
    (packages / "hook.py").write_text("")
    (packages / "hook.pth").write_text("import hook\n")
    frames = collect(PATH=f"{tmp_path}/venv/bin:/usr/bin:/bin")
    assert str(tmp_path / "venv/bin/python3") in frames["pythons"].text
    assert not list(tmp_path.rglob("__pycache__"))


@pytest.mark.parametrize("versions", ["versions/3.12.1", "installs/python/3.12.1"], ids=["pyenv", "asdf"])
def test_of_shims_the_pythons_beside_them_are_asked(collect, fake, tmp_path, versions):
    beside = tmp_path / "tool" / versions / "bin/python3"
    beside.parent.mkdir(parents=True)
    fake("python3", 'echo \'{"path": "beside"}\'').rename(beside)
    shims = tmp_path / "tool/shims"
    shims.mkdir()
    for name in ("python3", "python3.12"):
        fake(name, f"touch '{tmp_path}/started'").rename(shims / name)
    text = collect("pythons", PATH=f"{shims}:/usr/bin:/bin")["pythons"].text
    assert text.count('{"path": "beside"}') == 1
    assert not (tmp_path / "started").exists()


def test_this_machine(collect, tmp_path):
    frames = collect()
    assert frames["architecture"].text.strip() == os.uname().machine
    assert frames["home"].text == f"{tmp_path}/the home\n"
    assert frames["boot"].text.strip() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert int(frames["cores"].text) == len(os.sched_getaffinity(0))
    disks = {f"disk-{use}" for use in ("system", "home", "root", "tmp", "tmpdir", "shm")}
    found = {name: frame.status for name, frame in frames.items() if name.startswith(("disk", "root"))}
    assert found == dict.fromkeys({*disks, "root"}, "0")


def test_a_mark_is_answered_where_it_is(collect, tmp_path):
    mark = tmp_path / "mark"
    assert not collect("mark", REKINDLE_MARK=str(mark))["mark"].answered
    mark.touch()
    assert collect("mark", REKINDLE_MARK=str(mark))["mark"].answered
    assert collect("mark")["mark"].answered


def test_only_the_probes_that_are_named(collect, fake):
    fake("nvidia-smi", "sleep 60")
    probes = collect("disk-root", "home", "no-such-probe", limit=9)
    assert list(probes) == ["limit", "home", "disk-root", "end"]
    assert collect("home", limit=9)["limit"] == Frame("0", "9")


@pytest.mark.parametrize(
    "hangs",
    [
        "sleep {0}\n: the shell stays as a parent",
        "trap '' TERM INT HUP PIPE\nsleep {0} & wait; wait; sleep {0}",
    ],
    ids=["waits", "ends by no signal but kill"],
)
def test_an_nvidia_smi_that_hangs_is_given_up_and_killed(collect, fake, hangs):
    marker = f"61.{secrets.randbelow(10**9):09d}"
    fake("nvidia-smi", f"echo begun\n{hangs.format(marker)}")
    began = time.monotonic()
    frames = collect(limit=1)
    assert time.monotonic() - began < 10
    assert {frames[name] for name in GPU_PROBES} == {Frame("timeout", "begun\n")}
    assert frames["kernel"].answered
    time.sleep(0.2)
    assert alive(marker) == []


def test_mig_instances_come_into_the_record_and_the_plan(collect, fake, tmp_path):
    cut = cut_gpus(XML)
    (tmp_path / "xml").write_text(cut)
    (tmp_path / "list").write_text(list_instances(cut))
    answers = f'"-q -x") cat {tmp_path}/xml ;; -L) cat {tmp_path}/list ;; *) exit 2 ;;'
    fake("nvidia-smi", f'case "$*" in {answers} esac')
    found = replace(read_host(collect(), "h", "/rekindle"), pci_gpus=None)
    own = [name_instance(0, number) for number in range(2)]
    assert [gpu.uuid for gpu in found.gpus][:2] == own
    sites = assign_gpus(load_job(paths.JOBS, "llm_sft"), choose_gpus(found, ["0"]))
    assert [(site.ranks, *site.gpus) for site in sites] == [(1, own[0]), (1, own[1])]


def test_an_nvidia_smi_that_prints_garbage(collect, fake):
    fake("nvidia-smi", r"printf '@@0 end 0\n\377\n\001 no newline'".replace(r"\377", "%%"))
    frames = collect("nvidia-smi")
    assert frames["nvidia-smi"] == Frame("0", "@@0 end 0\n%\n\001 no newline")
    assert "end" in frames


@pytest.mark.parametrize("name", ['-x it\'s "two" $(touch gone) *', "`touch gone`\nb"])
def test_a_root_of_any_name_is_only_a_name(collect, tmp_path, name):
    for root, probes in (
        (f"~/{name}", ("root", "disk-root", "path-tmpdir")),
        (f"{tmp_path}/{name}", ()),  # by all
    ):
        frames = collect(*probes, root=root, tmpdir=f"{root}/tmp")
        assert frames["root"].status == "0"
        assert frames["disk-root"].answered
        assert frames["path-tmpdir"].text == f"{root}/tmp\n".replace("~", f"{tmp_path}/the home", 1)
    assert not list(tmp_path.rglob("gone"))


def test_a_root_under_a_file_cannot_be_made(collect, tmp_path):
    (tmp_path / "file").touch()
    assert collect("root", root=f"{tmp_path}/file/rekindle")["root"] == Frame(
        "1", f"{tmp_path}/file\nwhy Not a directory\n"
    )


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ([], ""),
        ([*OURS, "lost+found", ".rekindle-0123-room-root"], ""),
        ([*OURS, "my thesis", "zoo"], "stranger my thesis\n"),
        ([".hidden"], "stranger .hidden\n"),
    ],
)
def test_a_root_with_others_files_is_refused(collect, tmp_path, entries, found):
    root = made(tmp_path / "root")
    for name in entries:
        (root / name).mkdir()
    assert collect("root", root=root)["root"] == Frame("2" if found else "0", f"{root}\n{found}")


def test_a_home_is_no_root(collect, tmp_path):
    home = tmp_path / "the home"
    for root in (home, tmp_path, "/"):
        assert collect("root", root=root)["root"].text.endswith(f"\nhome {home}\n")


def made(path, mode=0o700, owner=None, group=None):
    """Make a folder, and return it; its owner and group are by default this user's."""
    path.mkdir(parents=True)
    path.chmod(mode)
    if (owner, group) != (None, None):
        shutil.chown(path, owner, group)
    return path


@pytest.mark.parametrize("mode", [0o777, 0o707, 0o770, 0o1777])
@pytest.mark.parametrize("below", ["", "/new/rekindle"])
def test_a_root_that_others_may_write_to_is_refused(collect, fake, tmp_path, mode, below):
    fake("getent", "echo staff:x:$2:tenant")
    folder, sticky = made(tmp_path / "scratch", mode), mode & 0o1000
    how = f"group {folder} {os.getgid()}" if mode == 0o770 else f"all {folder}"
    frames = collect("root", "tmpdir", root=f"{folder}{below}", tmpdir=f"{folder}{below}")
    assert frames["root"] == (
        Frame("0", f"{folder}\n") if sticky and below else Frame("2", f"{folder}\n{how}\n")
    )
    assert frames["tmpdir"].status == ("0" if sticky else "2")


@pytest.mark.parametrize(
    ("group", "status"),
    [("{user}:x:{gid}:", "0"), ("{user}:x:{gid}:{user}", "0"), ("{user}:x:{gid}:{user},tenant", "2"),
     ("{user}:x:{gid}:tenant", "2"), ("users:x:{gid}:", "2"), ("", "2")],
)  # fmt: skip
def test_a_group_of_the_user_alone_may_write_to_a_root(collect, fake, tmp_path, group, status):
    folder, user = made(tmp_path / "home", 0o775), pwd.getpwuid(os.getuid()).pw_name
    answer = group.format(user=user, gid=os.getgid())
    fake("getent", f"echo '{answer}'")
    assert collect("root", root=f"{folder}/rekindle")["root"].status == status


def test_an_acl_by_which_others_may_write_to_a_root_is_seen(collect, fake, tmp_path):
    folder = made(tmp_path / "acl", 0o770)
    fake("ls", f"/bin/ls \"$@\" | sed '/{folder.name}$/s/^d........./&+/'")
    assert collect("root", root=f"{folder}/rekindle")["root"].text.splitlines()[1:] == [
        f"group {folder} {os.getgid()}"
    ]


def test_a_link_on_the_way_to_a_root_is_followed(collect, tmp_path):
    scratch, own = made(tmp_path / "scratch", 0o777), made(tmp_path / "own")
    (own / "link").symlink_to("../scratch")
    (own / "loop").symlink_to("loop")
    (own / "other").symlink_to("link")
    (tmp_path / "good").symlink_to(own)
    for link in ("link", "link/a/b", "other/x"):
        assert collect("root", root=f"{own}/{link}")["root"].text.endswith(f"all {own}/../scratch\n")
    assert collect("root", root=f"{own}/loop")["root"].status == "1"
    assert collect("root", root=f"{tmp_path}/good/rekindle")["root"].status == "0"
    assert scratch.is_dir()


@pytest.mark.skipif(os.getuid() != 0, reason="gives folders to another user, which root can alone")
@pytest.mark.parametrize("below", ["", "/a/b"])
def test_a_root_of_another_user_is_refused(collect, tmp_path, below):
    folder = made(tmp_path / "theirs", 0o755, owner=4711)
    refused = collect("root", root=f"{folder}{below}")["root"]
    assert refused == Frame("2", f"{folder}\nowner {folder} 4711\n")
    assert collect("root", root=f"{made(tmp_path / 'nobodys', owner=65534)}{below}")["root"].status == "2"
    link = tmp_path / "link"
    link.symlink_to(made(tmp_path / "own"))
    shutil.chown(tmp_path / "own", 0)
    os.chown(link, 4711, -1, follow_symlinks=False)
    assert collect("root", root=f"{link}{below}")["root"].text.splitlines()[1] == f"owner {link} 4711"


@pytest.mark.skipif(os.getuid() != 0, reason="makes a user namespace with some of the machine's users")
def test_in_a_container_nobody_may_be_the_machines_root(tmp_path):
    folder = made(tmp_path / "mounted", 0o755, owner=4711)
    inside = 'dash -s -- n "$1/x" "$1/x" 20 root'
    done = capture_command(
        ["unshare", "--user", "--map-root-user", "sh", "-c", inside, "sh", str(folder)],
        stdin=COLLECTOR.open(),
    )
    if not done.stdout:
        pytest.skip(f"no user namespace here: {done.stderr}")
    assert "owner" not in done.stdout


def test_variables_and_files_of_pip(collect, tmp_path):
    (tmp_path / "pip.conf").write_text("[global]\nretries = 9\n")
    environ = {"PIP_CONFIG_FILE": f"{tmp_path}/pip.conf", "PIP_NO_INDEX": "1"}
    frames = collect("pip-file", "pip-env", **environ)
    assert frames["pip-file"].text == "[global]\nretries = 9\n"
    pip = {f"PIP_CONFIG_FILE={tmp_path}/pip.conf", "PIP_NO_INDEX=1"}
    assert {*frames["pip-env"].text.split()} == pip


SECRETS = ["https://me:CANARY@h.example/p", "https://CANARY@h.example/p", "https://h.example/p?sig=CANARY"]
SECRETS += ["me:CANARY@proxy.example:3128", "http://me:CAN:ARY@CANARY@h.example/p"]
SECRETS += ["https://h.example/CANARY/org/wheels/", "https://h.example/priv/CANARY/wheels"]
SECRETS += [
    "https://me:CAN ARY@h.example/p",
    "https://me:a@CAN ARY@h.example/p",
    "me:CAN ARY@proxy.example:3128",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_no_credentials_of_pip_leave_the_host(collect, tmp_path, secret):
    (tmp_path / "pip.conf").write_text(
        f"[global]\nproxy={secret}\nextra-index-url =\n  {secret}\n  {secret}\n"
    )
    probes = () if secret == SECRETS[0] else OF_PIP  # all, and those that read it
    frames = collect(*probes, PIP_CONFIG_FILE=f"{tmp_path}/pip.conf", PIP_INDEX_URL=secret)
    for name in ("pip-file", "pip-env"):
        assert frames[name].answered
        assert "****" in frames[name].text
    assert "ARY" not in "".join(frame.text for frame in frames.values())


def test_a_virtual_environment_first_on_the_path_shows_with_its_base(collect, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{tmp_path}/venv"], check=True)
    (site,) = tmp_path.glob("venv/lib/python*/site-packages")
    for name, version in {"torch": "2.9.1+cu128", "tensorflow_cpu": "2.21.0"}.items():
        info = site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (site / "torch.py").write_text("raise SystemExit('imported')")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(f"{tmp_path}/venv/bin/python3")
    text = collect("pythons", PATH=f"{tmp_path}/venv/bin:/usr/bin:/bin")["pythons"].text
    version = platform.python_version()
    assert (
        f'{{"path": "{tmp_path}/venv/bin/python3", "version": "{version}", "venv": true, '
        '"torch": "2.9.1+cu128", "torchvision": null, "tensorflow": "2.21.0", "lightning": null}\n'
    ) in text
    base = os.path.realpath(f"{sys.base_prefix}/bin/python3")
    assert f'{{"path": "{base}", "version": "{version}", "venv": false,' in text


def test_a_python_that_hangs_costs_only_itself(collect, fake):
    fake("python3", "sleep 60")
    real = fake("python3.11", f'exec {sys.executable} "$@"')
    frame = collect("pythons", limit=3)["pythons"]
    assert frame.status == "timeout"
    assert f'"version": "{platform.python_version()}"' in frame.text
    assert real.exists()


def test_a_broken_off_script_does_nothing():
    script = COLLECTOR.read_text()
    done = capture_command(
        ["dash", "-s", "--", "n", "~/r", "/tmp"], input=script[: int(len(script) * 0.98)], timeout=30
    )
    with pytest.raises(FactsError):
        parse_frames(done.stdout, "n")


def test_a_driver_that_knows_no_compute_cap_is_asked_without_it(collect, fake):
    fake(
        "nvidia-smi",
        'case "$*" in\n'
        """*compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2 ;;\n"""
        '*) echo "$*" ;;\nesac',
    )
    frame = collect("nvidia-query")["nvidia-query"]
    assert frame.answered
    refused, asked = frame.text.splitlines()
    assert "not a valid field" in refused
    assert "--query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total," in asked
    fake("nvidia-smi", "echo on error; exit 9")
    assert collect("nvidia-query")["nvidia-query"] == Frame("9", "on error\n")


mounts = pytest.mark.skipif(os.getuid() != 0, reason="mounts file systems, as root alone can")


@pytest.fixture
def collect_on(tmp_path):
    """Run the collector where ``mount`` has mounted a file system of its own, and return its frames."""

    def run(options, at, *probes, root="/nowhere", **env):
        Path(at).mkdir(exist_ok=True)
        mount = f"mount -t tmpfs -o {options} tmpfs '{at}'"
        command = f"{mount}; exec dash -s -- n '{root}' '{root}/tmp' 20 {' '.join(probes)}"
        done = capture_command(
            ["unshare", "--mount", "sh", "-c", command],
            stdin=COLLECTOR.open(),
            timeout=60,
            check=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **env},
        )
        return parse_frames(done.stdout, "n")

    return run


@mounts
def test_a_root_that_starts_no_program_is_seen(collect_on, tmp_path):
    at = tmp_path / "mnt"
    frames = collect_on("noexec", at, "start-root", "start-tmpdir", "files-root", root=f"{at}/rekindle")
    assert frames["start-root"].status == "126"
    assert frames["start-root"].first_line.endswith("Permission denied")
    assert (frames["start-tmpdir"].status, frames["files-root"].status) == ("126", "0")


@mounts
def test_a_root_without_inodes_is_seen(collect_on, tmp_path):
    at = tmp_path / "mnt"
    tried = collect_on("nr_inodes=2", at, "files-root", root=f"{at}/rekindle")["files-root"]
    assert "No space left on device" in tried.text
    assert not tried.answered
    # Asked alone: probes run at once, and the trial's folder is an inode while it is there.
    disk = collect_on("nr_inodes=2", at, "disk-root", root=f"{at}/rekindle")["disk-root"]
    assert re.search(r"tmpfs +2 +1 +1 ", disk.text)


@mounts
@pytest.mark.parametrize("options", ["size=64k", "nr_inodes=20"])
def test_answers_are_kept_elsewhere_where_dev_shm_is_full(collect_on, options):
    frames = collect_on(options, "/dev/shm", "home", "disk-shm")
    assert frames["home"].answered
    assert frames["disk-shm"].answered


def test_nothing_is_tried_where_this_user_may_not_write(collect, tmp_path):
    (tmp_path / "file").touch()
    frames = collect("files-root", "start-root", root=f"{tmp_path}/file/rekindle")
    assert (frames["files-root"].status, frames["start-root"].status) == ("0", "0")


@pytest.mark.parametrize(
    ("message", "status"), [("Disk quota exceeded", "1"), ("Operation not supported", "0"), ("", "0")]
)
def test_a_quota_is_seen_by_reserving_what_is_to_be_free(collect, fake, tmp_path, message, status):
    fake(
        "fallocate",
        f"printf '%s\\n' \"$*\" >{tmp_path}/asked; echo 'fallocate failed: {message}' >&2; exit 1",
    )
    frame = collect("room-root", REKINDLE_ROOM="20000000000")["room-root"]
    assert frame == Frame(status, f"fallocate failed: {message}\n" if status == "1" else "")
    assert (tmp_path / "asked").read_text() == "-n -l 20000000000 /proc/self/fd/9\n"
    assert collect("room-root")["room-root"] == Frame("0", "")


def test_what_a_file_system_cannot_do_is_told_in_its_words(collect, fake):
    fake("ln", "echo 'ln: failed to create symbolic link: Operation not supported' >&2; exit 1")
    assert collect("files-root")["files-root"] == Frame(
        "1", "ln: failed to create symbolic link: Operation not supported\n"
    )


def test_a_run_of_ours_that_is_under_way_is_seen(collect, tmp_path):
    lock = tmp_path / "runs/a/driver.lock"
    lock.parent.mkdir(parents=True)
    assert collect("running", root=str(tmp_path))["running"].status == "0"
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert collect("running", root=str(tmp_path))["running"].status == "6"
    assert collect("running", root=str(tmp_path))["running"].status == "0"


@pytest.mark.parametrize(
    ("off", "says"), [(0, None), (-250, None), (4000, "1 h 6 min ahead of"), (-1e6, "behind")]
)
def test_a_clock_that_is_off_is_told(collect, fake, off, says):
    fake("date", f"echo {int(time.time() + off)}")
    frames = PartialFrames(collect("clock", *OF_EVERY_HOST))
    problems = [problem.message for problem in read_host(frames, "h", "/rekindle").problems]
    told = [message for message in problems if message.startswith("The host's clock is ")]
    assert len(told) == bool(says)
    assert all(says in message and message.endswith(" the controller's.") for message in told)


def test_a_python_that_was_built_without_modules_is_not_used(collect, fake):
    hidden = "import sys; sys.modules['lzma'] = sys.modules['_ctypes'] = None"
    fake("python3", f'exec {sys.executable} -I -B -c "{hidden}; exec(sys.argv[1])" "$4"')
    found = read_host(PartialFrames(collect("pythons", *OF_EVERY_HOST)), "h", "/rekindle")
    (unfit,) = [problem.message for problem in found.problems if problem.name == "unfit-python"]
    assert unfit.startswith(f"Python {platform.python_version()} at ")
    assert unfit.endswith(" lacks ctypes and lzma: it is not used.")


@pytest.mark.parametrize("python", [sys.executable, "~/../python -I", "/usr/bin/env python3"])
def test_an_interpreter_of_the_inventory_is_tried(collect, tmp_path, python):
    (tmp_path / "python").symlink_to(sys.executable)
    assert collect("interpreter", REKINDLE_PYTHON=python)["interpreter"].answered
    assert collect("interpreter")["interpreter"].answered
    assert not collect("interpreter", REKINDLE_PYTHON=f"/opt/none{python}")["interpreter"].answered


def test_cuda_is_tried_where_nvidia_smi_is(collect, fake):
    assert collect("cuda")["cuda"] == Frame("0", "")
    fake("nvidia-smi", "exit 0")
    frame = collect("cuda")["cuda"]
    assert frame.answered or "libcuda" in frame.text or "CUDA_ERROR" in frame.text
    fake("python3", "echo CUDA_ERROR_SYSTEM_NOT_READY; exit 5")
    assert collect("cuda")["cuda"] == Frame("5", "CUDA_ERROR_SYSTEM_NOT_READY\n")


def test_nvidia_smi_is_found_where_wsl_has_it():
    assert ":/usr/lib/wsl/lib" in COLLECTOR.read_text()


def test_a_message_amid_an_answer_comes_after_it(collect, fake):
    fake("nvidia-smi", "echo '<a>'; echo WARNING >&2; echo '</a>'; exit 14")
    assert collect("nvidia-smi")["nvidia-smi"] == Frame("14", "<a>\n</a>\nWARNING\n")


def test_a_folder_has_one_identity_whatever_leads_there(collect, tmp_path):
    (tmp_path / "link").symlink_to(made(tmp_path / "own"))
    places = [collect("place", root=f"{tmp_path}/{name}/a/b")["place"].text for name in ("own", "link")]
    assert places[0] == places[1] != collect("place", root=f"{tmp_path}/own/a")["place"].text
