"""``rekindle plan HOST.json``."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from solver_hosts import H100, RTX5090, host

from rekindle.cli import main
from rekindle.records import HostRecord, PlanRecord, write


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Call ``rekindle plan``; returns its status."""

    def call(path: Path, *more: str) -> int:
        monkeypatch.setattr(sys, "argv", ["rekindle", "plan", str(path), *more])
        return main()

    return call


def _file(folder: Path, on: HostRecord) -> Path:
    write(folder / "host.json", on)
    return folder / "host.json"


def test_a_plan_is_printed_and_exits_0(
    plan: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(_file(tmp_path, host(H100))) == 0
    said = capsys.readouterr().out
    assert "torch: 2.15.0 (CUDA 13.2), Python 3.12.3, torch-2.15.0-cu132-py312.txt" in said
    assert (
        "gpu: compute capability 9.0 (NVIDIA H100 80GB HBM3) runs its machine code sm_90, and the PTX of 3%"
        in said
    )


def test_json_is_the_record_with_the_digest_of_its_input(
    plan: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, host(H100))
    assert plan(path, "--framework=torch", "--json") == 0
    record = msgspec.json.decode(capsys.readouterr().out, type=PlanRecord)
    assert [one.framework for one in record.environments] == ["torch"]
    assert record.host_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_refusal_exits_3(
    plan: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(_file(tmp_path, host(RTX5090)), "--framework=tensorflow") == 3
    assert "no kernels for compute capability 12.0" in capsys.readouterr().out
    assert plan(_file(tmp_path, host(pci_gpus=1)), "--framework=torch") == 3


def test_a_host_without_a_trace_of_a_gpu_gets_the_cpu_build(
    plan: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(_file(tmp_path, host(pythons=["3.11.7"])), "--framework=torch") == 0
    assert "torch: 2.13.0 (CPU)" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, "{", '{"schema": "rekindle/plan/1"}'])
def test_bad_input_is_one_sentence_and_exits_2(
    plan: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    path = tmp_path / "host.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert plan(path) == 2
    error = capsys.readouterr().err
    assert "Fix: " in error
    assert len(error.splitlines()) == 1


def test_an_unknown_framework_exits_2(
    plan: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(_file(tmp_path, host(H100)), "--framework=jax") == 2
    said = capsys.readouterr().err
    assert "'jax' is not one of torch, lightning, transformers, tensorflow, torch+vision, " in said
