# SPDX-License-Identifier: Apache-2.0
"""The sampler on GPUs that a fake NVML has: what it writes down of their errors, and that it never raises."""

import ctypes
from types import SimpleNamespace

import msgspec
import pynvml
import pytest

from rekindle.driver import xids
from rekindle.driver.sampler import Sampler
from rekindle.driver.snapshot import Snapshot
from rekindle.records.events import SampleEvent

BUS = {"GPU-a": b"00000000:1B:00.0", "GPU-b": b"00000000:00:06.0"}
OFFERED = "4,1,100,-;NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64\n"
BEFORE = "4,2,200,-;NVRM: Xid (PCI:0000:1b:00): 62, before the run\n"
FALLEN = "4,3,300,-;NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', GPU has fallen off the bus.\n"
MET = (
    "4,360,24339504,c;NVRM: Xid (PCI:0000:00:06): 31, pid=450, name=python3, channel 0x0000000a, "
    "intr 00000000. MMU Fault: ENGINE GRAPHICS GPC0 GPCCLIENT_T1_8 faulted @ 0x7f00_00000000. "
    "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE\n"
)
"""Of an H200 with driver 580.159.04, caused by a kernel's invalid write."""
NOT_OURS = "4,4,400,-;NVRM: Xid (PCI:0000:99:00): 48, pid=7, of another's GPU\n"


def _no(error):
    def refuse(*_):
        raise pynvml.NVMLError(error)

    return refuse


@pytest.fixture
def nvml(monkeypatch):
    """Return a fake NVML: two GPUs, whose ``events`` and ``ecc`` the test sets."""
    fake = SimpleNamespace(events=[], ecc=0, registered=[], kinds=pynvml.nvmlEventTypeXidCriticalError)
    uuids = dict(enumerate(sorted(BUS), 4096))
    handles = {uuid: ctypes.cast(address, pynvml.c_nvmlDevice_t) for address, uuid in uuids.items()}

    def uuid_of(handle):
        return uuids[ctypes.cast(handle, ctypes.c_void_p).value]

    def wait(_, timeout_ms):
        assert timeout_ms == 0, "a sample waits for nothing"
        if not fake.events:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_TIMEOUT)
        uuid, xid = fake.events.pop(0)
        kind = pynvml.nvmlEventTypeXidCriticalError
        return pynvml.c_nvmlEventData_t(device=handles[uuid], eventType=kind, eventData=xid)

    answers = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetHandleByUUID": lambda uuid: handles[uuid],
        "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=97, memory=30),
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(used=900 << 20),
        "nvmlDeviceGetComputeRunningProcesses": lambda handle: [],
        "nvmlDeviceGetProcessUtilization": lambda handle, since: [],
        "nvmlDeviceGetPciInfo": lambda handle: SimpleNamespace(busId=BUS[uuid_of(handle)]),
        "nvmlDeviceGetTotalEccErrors": lambda handle, kind, since: fake.ecc,
        "nvmlDeviceGetSupportedEventTypes": lambda handle: fake.kinds,
        "nvmlEventSetCreate": lambda: "set",
        "nvmlDeviceRegisterEvents": lambda handle, kinds, to: fake.registered.append(uuid_of(handle)),
        "nvmlEventSetWait_v2": wait,
    }
    for name in [name for name in dir(pynvml) if name.startswith("nvml") and callable(getattr(pynvml, name))]:
        monkeypatch.setattr(pynvml, name, answers.get(name, _no(pynvml.NVML_ERROR_NO_PERMISSION)))
    return fake


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Return a kernel's log of the test's, in which the driver has written before."""
    path = tmp_path / "kmsg"
    path.write_text(OFFERED + BEFORE)
    monkeypatch.setattr(xids, "KERNEL_LOG", path)
    return path


def _append(log, *records):
    with log.open("a") as stream:
        stream.writelines(records)


def _sampler(tmp_path):
    return Sampler(tmp_path / "samples.jsonl", set(BUS))


def _xids(sampler):
    return {uuid: gpu.xids for uuid, gpu in sampler.sample(Snapshot(0.0)).items()}


def test_nvmls_events_are_reported_once_and_of_their_own_gpu(tmp_path, nvml, log):
    log.unlink()
    sampler = _sampler(tmp_path)
    assert nvml.registered == ["GPU-a", "GPU-b"]
    assert _xids(sampler) == {"GPU-a": (), "GPU-b": ()}
    nvml.events += [("GPU-b", 31), ("GPU-b", 31), ("GPU-b", 13)]
    assert _xids(sampler) == {"GPU-a": (), "GPU-b": (13, 31)}
    assert _xids(sampler) == {"GPU-a": (), "GPU-b": ()}


def test_the_kernels_log_counts_from_the_runs_start_on_and_of_the_runs_gpus(tmp_path, nvml, log):
    nvml.kinds = 0
    sampler = _sampler(tmp_path)
    assert nvml.registered == []
    assert _xids(sampler) == {"GPU-a": (), "GPU-b": ()}
    _append(log, FALLEN, NOT_OURS, "6,5,500,-;eth0: link is up\n", MET)
    assert _xids(sampler) == {"GPU-a": (79,), "GPU-b": (31,)}
    assert _xids(sampler) == {"GPU-a": (), "GPU-b": ()}


@pytest.mark.parametrize("by", [("NVML", "kernel"), ("kernel",), ("NVML",), ()])
def test_what_watches_is_recorded(tmp_path, nvml, log, by):
    if "kernel" not in by:
        log.unlink()
    if "NVML" not in by:
        nvml.kinds = 0
    seen = _sampler(tmp_path).sample(Snapshot(0.0))
    assert {gpu.xids_by for gpu in seen.values()} == {by}


@pytest.mark.parametrize("records", ["", "6,5,500,-;eth0: link is up\n", None])
def test_a_log_in_which_the_driver_never_wrote_watches_nothing(tmp_path, nvml, log, records):
    log.unlink()
    if records is not None:
        log.write_text(records)
    nvml.kinds = 0
    assert _xids(_sampler(tmp_path)) == {"GPU-a": None, "GPU-b": None}


EVENTS = ("EventSetCreate", "DeviceGetSupportedEventTypes", "DeviceRegisterEvents", "EventSetWait_v2")


@pytest.mark.parametrize("function", EVENTS)
def test_where_nvml_offers_no_events_nobody_watches(tmp_path, nvml, log, monkeypatch, function):
    log.unlink()
    monkeypatch.setattr(pynvml, f"nvml{function}", _no(pynvml.NVML_ERROR_NOT_SUPPORTED))
    assert _xids(_sampler(tmp_path)) == {"GPU-a": None, "GPU-b": None}


def test_uncorrected_memory_errors_are_counted_where_nvml_answers(tmp_path, nvml, log, monkeypatch):
    sampler = _sampler(tmp_path)
    nvml.ecc = 2
    assert sampler.sample(Snapshot(0.0))["GPU-a"].ecc_uncorrected == 2
    monkeypatch.setattr(pynvml, "nvmlDeviceGetTotalEccErrors", _no(pynvml.NVML_ERROR_NOT_SUPPORTED))
    assert sampler.sample(Snapshot(0.0))["GPU-a"].ecc_uncorrected is None


def test_a_gpu_that_stopped_answering_still_has_its_xid_written_down(tmp_path, nvml, log, monkeypatch):
    sampler = _sampler(tmp_path)
    _append(log, FALLEN)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetUtilizationRates", _no(pynvml.NVML_ERROR_GPU_IS_LOST))
    monkeypatch.setattr(pynvml, "nvmlEventSetWait_v2", _no(pynvml.NVML_ERROR_GPU_IS_LOST))
    assert sampler.sample(Snapshot(0.0)) == {}
    written = msgspec.json.decode((tmp_path / "samples.jsonl").read_bytes(), type=SampleEvent)
    assert written.unanswered == {"GPU-a": (79,), "GPU-b": ()}


def test_without_a_working_nvml_each_gpu_is_unanswered(tmp_path, nvml, log, monkeypatch):
    for function in ("nvmlInit", "nvmlDeviceGetHandleByUUID"):
        monkeypatch.setattr(pynvml, function, _no(pynvml.NVML_ERROR_UNINITIALIZED))
    assert _sampler(tmp_path).sample(Snapshot(0.0)) == {}
    written = msgspec.json.decode((tmp_path / "samples.jsonl").read_bytes(), type=SampleEvent)
    assert written.unanswered == {"GPU-a": None, "GPU-b": None}


def test_a_mig_instance_has_memory_its_own_xids_and_no_utilisation(tmp_path, nvml, log, monkeypatch):
    log.unlink()
    board = pynvml.nvmlDeviceGetHandleByUUID("GPU-a")
    answers = {
        "nvmlDeviceGetHandleByUUID": lambda uuid: int(uuid[-1]),
        "nvmlDeviceIsMigDeviceHandle": lambda handle: isinstance(handle, int),
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": lambda handle: board,
        "nvmlDeviceGetGpuInstanceId": lambda handle: handle,
        "nvmlDeviceGetUtilizationRates": _no(pynvml.NVML_ERROR_NOT_SUPPORTED),
        "nvmlDeviceGetProcessUtilization": _no(pynvml.NVML_ERROR_NOT_SUPPORTED),
    }
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, answer)
    events = [(7, 31), (9, 13), (0xFFFFFFFF, 79)]

    def wait(*_):
        if not events:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_TIMEOUT)
        of, xid = events.pop(0)
        kind = pynvml.nvmlEventTypeXidCriticalError
        return pynvml.c_nvmlEventData_t(device=board, eventType=kind, eventData=xid, gpuInstanceId=of)

    monkeypatch.setattr(pynvml, "nvmlEventSetWait_v2", wait)
    seen = Sampler(tmp_path / "samples.jsonl", {"MIG-7", "MIG-8"}).sample(Snapshot(0.0))
    assert {uuid: gpu.xids for uuid, gpu in seen.items()} == {"MIG-7": (31, 79), "MIG-8": (79,)}
    assert {(gpu.utilisation, gpu.process_utilisation, gpu.used_mib) for gpu in seen.values()} == {
        (None, None, 900)
    }
