# SPDX-License-Identifier: Apache-2.0
import pytest
from answers import FRAMES, host
from msgspec.structs import replace

from rekindle.hostfacts import choose_interpreter, find_twin, find_unmet, list_warnings
from rekindle.hostfacts.frames import Frame
from rekindle.records import Disk, FailedProbe, Gpu, GpuProcess, Python

HOST = host()
UNFIT_PYTHONS = (Python(path="/a", version="3.13.0"), Python(path="/b", version="3.9.18"))
NO_XML = "nvidia-smi -q -x gave no XML but: x."
OLD_PYTHON = '{"path": "/b", "version": "3.9.18"}'
OTHER = GpuProcess(pid=47, name="python", memory_mib=90)
OURS = GpuProcess(pid=46, name=f"{HOST.root}/envs/torch-35a1af129d1c/bin/python", memory_mib=900)


def lacks(found, *, gpus_required=True, min_free_gb=20):
    unmet = find_unmet(found, gpus_required=gpus_required, min_free_gb=min_free_gb)
    assert all(complaint.action for complaint in unmet)
    return list(map(str, unmet))


def with_gpu(**changed):
    return replace(HOST, gpus=(replace(HOST.gpus[0], **changed), HOST.gpus[1]))


def with_disk(use, free_mib, free_inodes=None):
    changed = {"free_mib": free_mib, "free_inodes": free_inodes}
    disks = (replace(disk, **changed) if disk.use == use else disk for disk in HOST.disks)
    return replace(HOST, disks=tuple(disks))


def with_problem(name, message, **changed):
    problem = FailedProbe(name=name, message=message, timed_out="timed out" in message)
    return replace(HOST, problems=(problem,), **changed)


def late(name, text=""):
    """Return the recorded host, with one probe that printed ``text`` and was given up."""
    return host(**{name.replace("-", "_"): Frame("timeout", text)})


def test_a_healthy_host_lacks_nothing():
    assert lacks(HOST) == []


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (with_problem("nvidia-smi", "nvidia-smi -q -x timed out.", gpus=()), "nvidia-smi -q -x timed out"),
        (replace(HOST, driver=None, gpus=()), "No NVIDIA driver is loaded, and 2 NVIDIA GPUs"),
        (replace(HOST, driver=None, gpus=(), pci_gpus=None), "an unknown number of NVIDIA GPUs"),
        (replace(HOST, gpus=(), pci_gpus=0), "Driver 580.159.04 shows no GPU, and 0 are on the PCI bus. Fix"),
        (with_problem("nvidia-smi", NO_XML), "no XML"),
        (replace(HOST, pci_gpus=3), "3 NVIDIA GPUs are on the PCI bus but the driver shows 2"),
        (with_gpu(state="lost", message="GPU is lost"), "is lost: GPU is lost"),
        (with_gpu(state="error", message="name reads Unknown"), "is in error: name reads Unknown"),
        (with_gpu(ecc_uncorrected_volatile=1), "has 1 uncorrected ECC errors, 0 are allowed"),
        (with_gpu(row_remap_pending=True), "waits for a row remap"),
        (with_gpu(row_remap_failure=True), "failed to remap a row"),
        (with_gpu(throttle_reasons=("hw_thermal_slowdown",)), "at 35 °C (hw_thermal_slowdown)"),
        (with_gpu(throttle_reasons=("hw_slowdown",), temperature_c=None), "its hardware (hw_slowdown)"),
        (with_gpu(memory_used_mib=16), "has 16 MiB in use by unnamed processes, 15 MiB"),
        (with_gpu(memory_used_mib=500, processes=(OTHER,)), "500 MiB in use by process 47 (python), 15 MiB"),
        (with_gpu(memory_used_mib=None, processes=(OTHER,)), "has 90 MiB in use by process 47 (python)"),
        (with_gpu(memory_used_mib=990, processes=(OURS, OTHER)), "has 90 MiB in use by process 47 (python)"),
        (with_problem("root", "/srv is not a folder that this user can write to."), "rekindle_root cannot"),
        (with_problem("tmpdir", "/srv is no folder that this user can write to."), "rekindle_tmpdir cannot"),
        (with_disk("root", 19_000), "too little free space: 19.92 GB at /home/lease/rekindle"),
        (with_disk("tmpdir", 1_900), "TMPDIR (rekindle_tmpdir) has too little free space: 1.99 GB"),
        (with_disk("tmp", 95), "/tmp has too little free space: 95 MiB at /tmp, 95 MiB are needed"),
        (with_disk("shm", 47), "/dev/shm has too little free space: 47 MiB at /dev/shm, 48 MiB are needed"),
        *(
            (
                with_problem(f"files-{name}", "No file can be made there: x."),
                f"rekindle_{name} cannot be used: No file",
            )
            for name in ("root", "tmpdir")
        ),
        (with_problem("start-root", "No program can be started there: x."), "not mounted noexec"),
        *(
            (with_problem(f"need-{need}", "It cannot: x."), f"It cannot: x. Fix: {fix}")
            for need, fix in {
                "threads": "raise nproc",
                "instructions": "have the machine's owner give it another processor",
                "loopback": "have localhost in /etc/hosts",
                "semaphore": "mount /dev/shm as a tmpfs",
            }.items()
        ),
        (
            with_problem("interpreter", "It does not start: x."),
            "ansible_python_interpreter cannot be used: It does",
        ),
        (
            with_disk("root", 20_000, 49_999),
            "rekindle_root has too few free inodes: 49999 at /home/lease/rekindle",
        ),
        (with_disk("shm", 64, 99), "/dev/shm has too few free inodes: 99 at /dev/shm, 100 are needed"),
        (
            replace(HOST, memory=replace(HOST.memory, available_mib=1023)),
            "Too little memory is free: 1023 MiB, 1024 MiB are needed. Fix: end what holds it",
        ),
        (replace(HOST, limits={"file": "2048"}), "No file may be larger than 0.00 GiB there (ulimit -f)"),
        (
            replace(HOST, limits={"memory": "8388608"}),
            "A process may have 8.0 GiB of addresses (ulimit -v), and CUDA needs more.",
        ),
        (replace(HOST, limits={"data": "524288"}), "0.5 GiB of addresses (ulimit -d), and 4 GiB are needed"),
        (replace(HOST, limits={"time": "60"}), "A process is ended after 60 s of CPU time (ulimit -t)"),
        (
            with_problem("astray", "Python does not start as the login sets it up: /usr/bin/python3."),
            "Fix: take that out of the login's files",
        ),
        (replace(HOST, disks=HOST.disks[:-1]), "The free space of /dev/shm cannot be read"),
        (
            with_problem("disk-root", "df ended.", disks=HOST.disks[3:]),
            "rekindle_root cannot be read: df ended.",
        ),
        *(
            (late(name), f"The host was slow, and {what} is not known: The probe {name} timed out")
            for name, what in {
                "disk-root": "the free space of rekindle_root",
                "disk-tmpdir": "the free space of TMPDIR (rekindle_tmpdir)",
                "disk-tmp": "the free space of /tmp",
                "disk-shm": "the free space of /dev/shm",
                "pythons": "the list of its Pythons",
                "glibc": "its C library",
                "os": "its operating system",
                "root": "whether rekindle_root can be used",
                "tmpdir": "whether rekindle_tmpdir can be used",
                "pip-user": "the configuration of its pip",
            }.items()
        ),
        (late("pythons", OLD_PYTHON), "the list of its Pythons is not"),
        (
            replace(HOST, pythons=()),
            "No Python from 3.10 to 3.12 is on the host, found: none, and Rekindle has none for x86_64.",
        ),
        (replace(HOST, pythons=UNFIT_PYTHONS), "found: 3.13.0 at /a, 3.9.18 at /b, and Rekindle has none"),
    ],
)
def test_each_lack_is_one_sentence_with_its_fix(found, message):
    (sentence,) = lacks(found)
    assert message in sentence
    assert sentence.count("Fix: ") == 1
    assert ": Fix" not in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "found",
    [
        replace(HOST, pci_gpus=None),
        replace(HOST, pci_gpus=1),
        with_gpu(ecc_uncorrected_volatile=None, ecc_corrected_volatile=7),
        with_gpu(row_remap_pending=None, row_remap_failure=None),
        with_gpu(throttle_reasons=("sw_power_cap", "applications_clocks_setting")),
        with_gpu(memory_used_mib=15, processes=(GpuProcess(pid=1, name="Xorg", memory_mib=None),)),
        with_gpu(memory_used_mib=None, memory_total_mib=None),
        with_gpu(memory_used_mib=990, processes=(OURS,)),
        with_disk("root", 19_100),
        with_disk("tmpdir", 1_908),
        with_disk("root", 20_000, 50_000),
        replace(HOST, memory=replace(HOST.memory, available_mib=1024)),
        replace(HOST, limits={"file": "unlimited", "memory": "unlimited"}),
        replace(HOST, limits={"file": str(8 << 20)}),
        with_problem("start-tmpdir", "No program can be started there: x."),
        with_disk("tmp", 96),
        with_disk("shm", 64),
        with_problem("nvidia-topo", "nvidia-smi topo -m ended with status 1: x."),
        replace(HOST, pythons=(Python(path="/a", version="3.10.0"),)),
        replace(HOST, pythons=(Python(path="/a", version="3.12.9"),)),
        late("pythons", FRAMES["pythons"].text),
        late("user"),
    ],
)
def test_the_other_side_of_each_threshold(found):
    assert lacks(found) == []


@pytest.mark.parametrize(
    "found",
    [
        replace(HOST, driver=None, gpus=(), pci_gpus=0),
        replace(HOST, gpus=()),
        with_problem("nvidia-smi", "nvidia-smi -q -x timed out after 20 s.", gpus=()),
    ],
)
def test_a_host_without_gpus_will_do_where_none_are_required(found):
    assert lacks(found, gpus_required=False) == []
    assert len(lacks(found)) == 1


def test_gpus_that_are_there_have_to_be_well_even_where_none_are_required():
    assert len(lacks(with_gpu(state="lost", message="x"), gpus_required=False)) == 1


def test_several_lacks_come_together_and_in_order():
    found = replace(
        HOST,
        gpus=(Gpu(index=0, state="lost", message="x", row_remap_pending=True),),
        pythons=(),
        disks=tuple(Disk(use=disk.use, path=disk.path, total_mib=1, free_mib=0) for disk in HOST.disks),
    )
    first = " ".join(sentence.split()[0] for sentence in lacks(found))
    assert first == "GPU GPU rekindle_root TMPDIR /tmp /dev/shm No"


OLD, NEW = Python(path="/old", version="3.9.18"), Python(path="/new", version="3.13.0")
FIT, NEWEST = Python(path="/usr/bin/python3.10", version="3.10.2"), Python(path="/b", version="3.12.1")
VENV = Python(path="/opt/venv/bin/python3", version="3.12.9", venv=True)


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ((NEW, NEWEST, FIT, OLD), NEWEST.path),
        ((VENV, FIT), FIT.path),
        ((NEW, VENV, OLD), VENV.path),
        ((NEW, OLD), None),
        ((), None),
    ],
)
def test_the_newest_that_fits_outside_of_an_environment(pythons, chosen):
    assert choose_interpreter(pythons) == chosen


@pytest.mark.parametrize("path", ["/my pythons/python3", "/p;id", "/$(id)", "python3", "/{{ 3 }}"])
def test_a_path_that_a_shell_reads_more_into_is_none(path):
    assert choose_interpreter((Python(path=path, version="3.12.1"),)) is None
    assert choose_interpreter((Python(path=path, version="3.12.1"), FIT)) == FIT.path


def test_a_tmpdir_that_starts_no_program_is_a_warning():
    (sentence,) = map(str, list_warnings(with_problem("start-tmpdir", "No program can be started there: x.")))
    assert sentence.startswith("TMPDIR (rekindle_tmpdir): No program can be started there: x.")


def test_a_python_that_lacks_modules_is_told():
    unfit = with_problem("unfit-python", "Python 3.11.9 at /p lacks lzma: it is not used.")
    (sentence,) = map(str, list_warnings(unfit))
    assert sentence.startswith("Python 3.11.9 at /p lacks lzma: it is not used. Fix: build it again")
    (none,) = lacks(replace(unfit, pythons=()))
    assert "Python 3.11.9 at /p lacks lzma" in none


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("clock", "have it keep time by NTP"),
        ("need-name", "set rekindle_tmpdir to a shorter path"),
        ("need-files", "raise nofile"),
        ("need-locked", "raise memlock"),
        ("need-tmp", "let all write there"),
    ],
)
def test_what_many_jobs_do_without_is_a_warning(name, fix):
    found = with_problem(name, "It is so: x.")
    assert lacks(found) == []
    (sentence,) = map(str, list_warnings(found))
    assert sentence.startswith(f"It is so: x. Fix: {fix}")


def test_one_machine_under_two_names_is_found_by_its_boot_and_its_folder_or_gpus():
    first = replace(HOST, boot="b", place="7:1 /rekindle")
    second = replace(first, host="lease-2")
    assert "lease-2 is the same machine as lease-1" in str(find_twin(second, [first]))
    elsewhere = replace(second, place="8:1 /rekindle")
    assert f"both have GPU {min(gpu.uuid for gpu in HOST.gpus)}" in str(find_twin(elsewhere, [first]))
    bare, apart = replace(first, gpus=()), replace(first, gpus=first.gpus[:1])
    rest = replace(elsewhere, gpus=first.gpus[1:])
    assert "both have the folder" in str(find_twin(apart, [replace(rest, place=first.place)]))
    assert find_twin(apart, [rest]) is None
    assert find_twin(bare, [replace(elsewhere, gpus=())]) is None
    assert find_twin(first, [first, replace(second, boot="c")]) is None
    unknown = replace(first, boot=None), replace(second, boot=None)
    assert find_twin(unknown[0], unknown[1:]) is None


def test_machines_of_one_snapshot_are_two():
    first = replace(HOST, boot="b", place="7:1 /rekindle")
    gpus = tuple(replace(gpu, uuid=f"GPU-{gpu.index}") for gpu in first.gpus)
    assert find_twin(replace(first, host="lease-2", gpus=gpus), [first]) is None


@pytest.mark.parametrize(
    ("found", "asked"),
    [
        (with_gpu(memory_used_mib=500), "Fix: end them, or wait until their owner is done. Or leave it out"),
        (with_gpu(memory_used_mib=500), "(rekindle_gpus: [1])."),
        (
            with_gpu(processes=(replace(OTHER, name="nvidia-cuda-mps-server"),)),
            "Fix: end them (echo quit | nvidia-cuda-mps-control), or wait",
        ),
    ],
)
def test_memory_that_others_hold_has_a_way_out(found, asked):
    assert any(asked in sentence for sentence in lacks(found))


def test_memory_that_no_process_shows_is_ours_in_a_container_and_a_desktops_on_wsl():
    held = with_gpu(memory_used_mib=500, processes=())
    assert lacks(held)
    runs = FailedProbe(name="running", message="A run of Rekindle is under way: /r/driver.lock.")
    assert not lacks(replace(held, problems=(runs,)))
    assert not lacks(replace(held, os=replace(HOST.os, kernel="6.6.87-microsoft-standard-WSL2")))
