"""``rekindle plan HOST.json``."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest
from solver_hosts import H100, RTX5090, host

from rekindle.records import HostRecord, PlanRecord, write
from rekindle.solver import run


def _file(folder: Path, on: HostRecord) -> Path:
    write(folder / "host.json", on)
    return folder / "host.json"


def test_a_plan_is_printed_and_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_file(tmp_path, host(H100)), None, as_json=False) == 0
    said = capsys.readouterr().out
    assert "torch: 2.15.0 (CUDA 13.2), Python 3.12.3, torch-2.15.0-cu132-py312.txt" in said
    assert "warning: TensorFlow 2.21.0 (CUDA 12.9) has only PTX for 9.0" in said


def test_json_is_the_record_with_the_digest_of_its_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, host(H100))
    assert run(path, "torch", as_json=True) == 0
    record = msgspec.json.decode(capsys.readouterr().out, type=PlanRecord)
    assert [one.framework for one in record.environments] == ["torch"]
    assert record.host_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_refusal_exits_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_file(tmp_path, host(RTX5090)), "tensorflow", as_json=False) == 3
    assert "no kernels for compute capability 12.0" in capsys.readouterr().out
    assert run(_file(tmp_path, host(pci_gpus=1)), "torch", as_json=False) == 3


def test_a_host_without_a_trace_of_a_gpu_gets_the_cpu_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_file(tmp_path, host(pythons=["3.11.7"])), "torch", as_json=False) == 0
    assert "torch: 2.13.0 (CPU)" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, "{", '{"schema": "rekindle/host/9"}'])
def test_bad_input_is_one_sentence_and_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    path = tmp_path / "host.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert run(path, None, as_json=False) == 2
    error = capsys.readouterr().err
    assert "Fix: " in error
    assert len(error.splitlines()) == 1


def test_an_unknown_framework_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_file(tmp_path, host(H100)), "jax", as_json=False) == 2
    assert "Fix: torch, lightning, transformers, tensorflow." in capsys.readouterr().err
