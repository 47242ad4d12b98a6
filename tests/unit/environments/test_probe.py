# SPDX-License-Identifier: Apache-2.0
"""The probe: what an environment must do on its host, and the message when it does not."""

import json
import time

import pytest

from rekindle.environments import probe as prober


def test_a_probe_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(prober, "_LIMIT_S", 1)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nsleep 60\n")
    python.chmod(0o755)
    began = time.monotonic()
    with pytest.raises(prober.ProbeError, match="hung for 1 s"):
        prober.probe_environment(python, "torch", [], tmp_path)
    assert time.monotonic() - began < 10


def _answering(tmp_path, *answers):
    """Return an interpreter that gives one answer after the other: a report, or an error to end with."""
    python = tmp_path / "python"
    for number, answer in enumerate(answers):
        (tmp_path / f"answer-{number}").write_text(answer)
    python.write_text(
        f"#!/bin/sh\ncd {tmp_path}\nn=$(cat count 2>/dev/null || echo 0)\necho $((n+1)) > count\n"
        'echo "$2" >> asked\ncase $(cat answer-$n) in\n'
        "Error*) cat answer-$n >&2; exit 1;;\n*) cat answer-$n;;\nesac\n"
    )
    python.chmod(0o755)
    return python


def _report(gpus):
    return json.dumps({"build": {}, "gpus": [{"name": "NVIDIA H200"}] * gpus, "collective": {}})


def test_fewer_gpus_than_the_host_has_fail_the_probe(tmp_path):
    with pytest.raises(prober.ProbeError, match="sees 1 GPUs and the host has 2"):
        prober.probe_environment(_answering(tmp_path, _report(1)), "torch", ["GPU-a", "GPU-b"], tmp_path)


def test_tensorflow_falls_back_when_nccl_fails_and_records_it(tmp_path):
    python = _answering(tmp_path, "Error: NCCL unhandled cuda error", _report(2))
    report = prober.probe_environment(python, "tensorflow", ["GPU-a", "GPU-b"], tmp_path)
    assert report["cross_device_ops"] == "HierarchicalCopyAllReduce"
    assert "NCCL unhandled cuda error" in report["failed"][0]
    assert (tmp_path / "asked").read_text().split() == ["NcclAllReduce", "HierarchicalCopyAllReduce"]


def test_tensorflow_without_any_collective_fails(tmp_path):
    python = _answering(tmp_path, "Error: one", "Error: two")
    with pytest.raises(prober.ProbeError, match=r"Error: one.*Error: two"):
        prober.probe_environment(python, "tensorflow", ["GPU-a", "GPU-b"], tmp_path)
