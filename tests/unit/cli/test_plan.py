"""``rekindle plan HOST.json``."""

import hashlib
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from solver_hosts import H100, P100, RTX5090, V100, host, python

from rekindle.cli import main
from rekindle.records import Driver, PciGpu, PlanRecord, write


@pytest.fixture
def plan(monkeypatch):
    """Call ``rekindle plan``; returns its status."""

    def call(path, *more):
        monkeypatch.setattr(sys, "argv", ["rekindle", "plan", str(path), *more])
        return main()

    return call


def _file(folder, on):
    write(folder / "host.json", on)
    return folder / "host.json"


def test_a_plan_is_printed_and_exits_0(plan, tmp_path, capsys):
    assert plan(_file(tmp_path, host(H100))) == 0
    said = capsys.readouterr().out
    assert "torch: 2.15.0 (CUDA 13.2), Python 3.12.3, torch-2.15.0-cu132-py312.txt" in said
    assert (
        "gpu: compute capability 9.0 (NVIDIA H100 80GB HBM3) runs its machine code sm_90, and the PTX of 3%"
        in said
    )


def test_json_is_the_record_with_the_digest_of_its_input(plan, tmp_path, capsys):
    path = _file(tmp_path, host(H100))
    assert plan(path, "--framework=torch", "--json") == 0
    record = msgspec.json.decode(capsys.readouterr().out, type=PlanRecord)
    assert [environment.framework for environment in record.environments] == ["torch"]
    assert record.host_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_refusal_exits_3(plan, tmp_path, capsys):
    assert plan(_file(tmp_path, host(RTX5090)), "--framework=tensorflow") == 3
    assert "no kernels for compute capability 12.0" in capsys.readouterr().out
    assert plan(_file(tmp_path, host(pci_gpus=1)), "--framework=torch") == 3


def test_a_host_without_a_trace_of_a_gpu_gets_the_cpu_build(plan, tmp_path, capsys):
    assert plan(_file(tmp_path, host(pythons=["3.11.7"])), "--framework=torch") == 0
    assert "torch: 2.13.0 (CPU)" in capsys.readouterr().out


def test_a_loaded_driver_without_a_gpu_is_no_host_for_the_cpu(plan, tmp_path, capsys):
    loaded = Driver(version="580.95.05", source="/sys/module/nvidia/version", cuda=None)
    on = replace(host(pythons=["3.11.7"]), driver=loaded)
    assert plan(_file(tmp_path, on), "--framework=torch") == 3
    assert "Driver 580.95.05 shows no GPU" in capsys.readouterr().out


def test_a_driver_that_might_be_loaded_buys_builds_and_loses_gpus(plan, tmp_path, capsys):
    old = _file(tmp_path, host(H100, driver="535.54.03"))
    assert plan(old, "--what-if=driver=580") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "lease with driver 580 instead of 535.54.03:"
    assert "  torch: 2.15.0 (CUDA 13.2); now 2.10.0 (CUDA 12.8)" in said
    assert "  tensorflow: 2.21.0 (CUDA 12.9); now refused" in said
    volta = _file(tmp_path, host(V100))
    assert plan(volta, "--what-if=driver=590", "--framework=torch") == 3
    said = capsys.readouterr().out.splitlines()
    assert said[1] == "  it loses GPU 0 (Tesla V100-SXM2-32GB): branch 580 is the last that knows it"
    assert said[2] == "  torch: refused; now 2.10.0 (CUDA 12.8)"
    assert plan(volta, "--what-if=driver=580.95", "--framework=torch", "--json") == 0
    now, then = msgspec.json.decode(capsys.readouterr().out, type=list[PlanRecord])
    assert [now.environments[0].build] == [then.environments[0].build]
    none = replace(host(pci_gpus=1), pci_devices=(PciGpu(address="x", device="2B85", kernel_driver=None),))
    assert plan(_file(tmp_path, none), "--what-if=driver=570.86.16", "--framework=torch") == 0
    assert "torch: 2.10.0 (CUDA 12.8); now refused" in capsys.readouterr().out
    assert plan(_file(tmp_path, none), "--what-if=driver=550", "--framework=torch") == 3
    assert "driver 570.86.16 is the first that knows it" in capsys.readouterr().out


def test_what_might_be_is_a_driver(plan, tmp_path, capsys):
    for wrong in ("580", "driver=", "python=3.12", "driver=580-open", f"driver={'5' * 99}"):
        assert plan(_file(tmp_path, host(H100)), f"--what-if={wrong}") == 2
        assert "write one as driver=580" in capsys.readouterr().err


def _fleet(folder, **hosts):
    for name, on in hosts.items():
        (folder / name).mkdir()
        _file(folder / name, replace(on, host=name))
    return [str(folder / name / "host.json") for name in hosts]


def test_one_build_for_several_hosts_and_who_holds_the_others_back(plan, tmp_path, capsys):
    first, *more = _fleet(tmp_path, new=host(H100), newer=host(RTX5090), old=host(V100, driver="535.54.03"))
    assert plan(Path(first), *more, "--framework=torch") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "torch: torch 2.10.0 (CUDA 12.8) fits all of new, newer, old"
    assert said[1].startswith(
        "  old holds the others back, without which torch 2.15.0 (CUDA 13.2) fits all others: torch 2.15.0"
    )
    assert len(said) == 2
    assert plan(Path(first), *more, "--framework=torch", "--json") == 0
    plans = msgspec.json.decode(capsys.readouterr().out, type=list[PlanRecord])
    assert [record.environments[0].build.version for record in plans if record.environments[0].build] == [
        "2.10.0"
    ] * 3


@pytest.mark.parametrize("gpus", [(), (H100,)], ids=["CPU", "GPU"])
def test_same_hosts_get_the_plan_of_one(plan, tmp_path, capsys, gpus):
    one, other = (
        _file(tmp_path / name, replace(host(*gpus), host=name, driver=host(H100).driver if gpus else None))
        for name in "ab"
    )
    assert plan(one, "--json") == 0
    alone = msgspec.json.decode(capsys.readouterr().out, type=PlanRecord)
    assert plan(one, str(other), "--json") == 0
    for planned in msgspec.json.decode(capsys.readouterr().out, type=list[PlanRecord]):
        assert planned.environments == alone.environments


def test_hosts_of_one_name_are_told_apart(plan, tmp_path, capsys):
    files = []
    for name, model in (("east", H100), ("west", RTX5090)):
        (tmp_path / name).mkdir()
        files.append(str(_file(tmp_path / name, host(model))))
    assert plan(Path(files[0]), files[1], "--framework=tensorflow") == 3
    said = capsys.readouterr().out
    assert f"fits all of lease of {files[0]}\n" in said
    assert f"lease of {files[1]} is refused: TensorFlow" in said
    assert "None" not in said


def test_the_fewest_groups_where_no_build_fits_all(plan, tmp_path, capsys):
    hosts = {
        "a": host(H100),
        "b": host(RTX5090),
        "p": host(P100),
        "x": host(H100, pythons=[python("3.9.18")]),
    }
    first, *more = _fleet(tmp_path, **hosts)
    assert plan(Path(first), *more, "--framework=torch") == 3
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == [
        "torch: no build fits all hosts, 2 do",
        "  torch 2.15.0 (CUDA 13.2): a, b",
        "  torch 2.7.1 (CUDA 12.6): p",
    ]
    assert any(line.startswith("  p holds the others back, without which torch 2.15.0") for line in said)
    assert any(line.startswith("  x is refused: torch") for line in said)


@pytest.mark.parametrize("content", [None, "{", '{"schema": "rekindle/plan/1"}'])
def test_bad_input_is_one_sentence_and_exits_2(plan, tmp_path, capsys, content):
    path = tmp_path / "host.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert plan(path) == 2
    error = capsys.readouterr().err
    assert "Fix: " in error
    assert len(error.splitlines()) == 1


def test_an_unknown_framework_exits_2(plan, tmp_path, capsys):
    assert plan(_file(tmp_path, host(H100)), "--framework=jax") == 2
    said = capsys.readouterr().err
    assert "'jax' is not one of torch, lightning, transformers, tensorflow, torch+vision, " in said
