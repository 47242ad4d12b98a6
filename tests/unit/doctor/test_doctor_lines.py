"""Lines that the entries' own excerpts do not show, as real programs wrote them."""

from pathlib import Path

import pytest

from rekindle.doctor import diagnose_texts, texts

LINES = {
    "shared_memory_full": "RuntimeError: DataLoader worker (pid 5787) is killed by signal: Bus error. It is",
    "driver_too_old": "(error code CUDA driver version is insufficient for CUDA runtime version)!",
    "no_kernel_for_the_gpu": "sm_120 is not compatible with the current PyTorch installation.",
    "nccl_lacks_the_gpu": "NCCL WARN Cuda failure 98 'invalid device function'",
    "nccl_cuda_error": "RuntimeError: NCCL Error 1: unhandled cuda error",
    "gpu_memory_taken": "[rank1]: Cuda failure 2 'out of memory'",
    "model_outside_scope": 'RuntimeError: Need to be inside "with strategy.scope()" for <MirroredStrategy>',
    "quantiser_needs_cuda": "    values_tensor = torch.as_tensor(values).cuda()",
    "quantiser_needs_cuda ": "    values_tensor = values.cuda()",
    "master_unreachable": "The client socket has timed out after 4000ms while trying to connect to (x, 1).",
    "gpu_off_the_bus": "[12345.6] NVRM: Xid (PCI:0000:00:01.0): 79, pid='x', GPU has fallen off the bus.",
}


def _diagnose(content):
    return diagnose_texts([texts.text("log.txt", content.encode())])


@pytest.mark.parametrize(("name", "line"), LINES.items())
def test_a_line_is_known_bare_and_behind_a_loggers_prefix(name, line):
    for before in ("", "2026-11-20 20:45:34,220 - SubprocessLauncher - INFO - "):
        found = _diagnose(f"{before}{line}\n")
        assert [(finding.name, finding.line) for finding in found] == [(name.strip(), 1)]


def test_a_library_of_another_framework_is_named_rather_than_the_failed_import():
    (found,) = _diagnose("ImportError: libtorch_cuda.so: undefined symbol: ncclCommResume")
    assert (found.name, found.cause.count("ncclCommResume")) == ("cuda_libraries_mixed", 1)


def test_a_port_is_named_where_the_line_names_it():
    line = "name: EADDRINUSE, message: address already in use"
    first, second = _diagnose(f"port: 27777, useIpv6: false, code: -98, {line}"), _diagnose(line)
    assert [finding.name for finding in (*first, *second)] == ["port_in_use", "address_in_use"]
    assert first[0].cause == "Port 27777 is held by another process: address already in use."
    assert "no detail" not in second[0].cause


def test_the_quantisers_own_line_comes_before_what_it_raises():
    lines = "    values_tensor = torch.as_tensor(values).cuda()\nRuntimeError: No CUDA GPUs are available\n"
    assert _diagnose(lines)[0].name == "quantiser_needs_cuda"


def test_a_device_without_an_end_is_read_as_far_as_the_limit(monkeypatch):
    monkeypatch.setattr(texts, "LIMIT", 4096)
    with Path("/dev/urandom").open("rb") as endless:
        assert 0 < len(texts.read_stream(endless, "endless").raw) <= 4096


def test_a_hole_in_a_log_is_no_text():
    assert texts.text("log.txt", b"one\0\0\0\ntwo").raw == "one\ntwo"


def test_a_warning_that_a_compile_takes_minutes_is_a_possible_cause_alone():
    (found,) = _diagnose(
        "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0. X"
    )
    assert (found.confidence, "capability 12.0 and" in found.cause) == ("possible", True)
