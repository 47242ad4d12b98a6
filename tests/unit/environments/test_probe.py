# SPDX-License-Identifier: Apache-2.0
"""The probe: what an environment must do on its host, and the message when it does not."""

import json
import os
import sys
import time
from importlib.resources import files

import pytest
from runners.commands import capture_command

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
    """Return an interpreter that gives one answer after the other: a report, or an error to end with.

    It imports NVFlare beside that.
    """
    python = tmp_path / "python"
    for number, answer in enumerate(answers):
        (tmp_path / f"answer-{number}").write_text(answer)
    python.write_text(
        "#!/bin/sh\ncase $1 in *nvflare_probe.py) echo {}; exit;; esac\n"
        f"cd {tmp_path}\nn=$(cat count 2>/dev/null || echo 0)\necho $((n+1)) > count\n"
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


def test_an_environment_whose_nvflare_does_not_import_fails_the_probe(tmp_path):
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\ncase $1 in *nvflare_probe.py) echo 'ModuleNotFoundError: no grpc' >&2; exit 1;; esac\n"
        f"echo '{_report(0)}'\n"
    )
    python.chmod(0o755)
    with pytest.raises(prober.ProbeError, match=r"nvflare_probe\.py failed: ModuleNotFoundError: no grpc"):
        prober.probe_environment(python, "torch", [], tmp_path)


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


FAKE_TORCH = {
    "__init__": """
import os
from . import cuda, distributed, multiprocessing, optim, version
__version__ = "2.11.0"
class Array:
    def __init__(self, error=1.0): self.error = error
    def double(self): return self
    def cpu(self): return self
    def to(self, device): return Array(0.5 if str(device[1:]) == os.environ.get("WRONG") else 0.0)
    def sub(self, expected): return self
    def norm(self): return self.error
    def __matmul__(self, other): return self
    def __eq__(self, value): return self
    def all(self): return True
class Generator:
    def manual_seed(self, seed): return self
def randn(*shape, **named): return Array()
def full(shape, value, device): return Array()
def device(kind, *index): return (kind, *index)
def zeros(count): return [0.0] * count
""",
    "cuda": """
import os
from types import SimpleNamespace
def device_count(): return int(os.environ.get("SEEN", 0))
def get_arch_list(): return []
def is_available(): return False
def set_device(device): pass
def get_device_properties(index): return SimpleNamespace(uuid=index, name="NVIDIA H200", major=9, minor=0)
""",
    "distributed": """
import os
def init_process_group(*given, rank, **named):
    if str(rank) == os.environ.get("ALONE"): raise RuntimeError("no peer")
def all_reduce(total): pass
def destroy_process_group(): pass
""",
    "multiprocessing": """
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import *
def start_processes(work, given, count, **named):
    with ThreadPoolExecutor(count) as pool:
        started = [pool.submit(work, rank, *given) for rank in range(count)]
    class Started:
        def join(self): return [one.result() for one in started]
    return Started()
""",
    "optim": "def SGD(parameters): pass\n",
    "version": "cuda = None\n",
}


@pytest.fixture
def lender(tmp_path):
    """Return a folder of packages with a torch and a Lightning, which are not of the environment's Python."""
    for name, text in FAKE_TORCH.items():
        path = tmp_path / "lender" / "torch" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "lender" / "lightning.py").write_text("raise ImportError('it does not fit this torch')\n")
    (tmp_path / "lender" / "torchvision.py").write_text("__version__ = '0.26.0'\n")
    return tmp_path / "lender"


def _probe(packages, prefix=sys.prefix, **variables):
    """Return what the probe of torch prints beside these packages, and its errors."""
    script = files("rekindle.environments.probes").joinpath("torch_probe.py").read_text()
    before = f"import sys; sys.path.insert(0, {str(packages)!r}); sys.prefix = {str(prefix)!r}"
    return capture_command(
        [sys.executable, "-c", f"{before}\n{script}"], env=os.environ | variables, timeout=60
    )


def test_of_a_lent_torch_only_torchvision_is_imported_beside_it(lender):
    probed = _probe(lender)
    assert probed.returncode == 0, probed.stderr
    build = json.loads(probed.stdout.splitlines()[-1])["build"]
    assert (build["torchvision"], "lightning" in build) == ("0.26.0", False)


def test_what_the_environment_brings_has_to_import(lender):
    probed = _probe(lender, lender)
    assert probed.returncode != 0
    assert probed.stderr.splitlines()[-1] == "ImportError: it does not fit this torch"


def test_a_compiler_that_does_not_load_is_named_as_it_raises(lender):
    (lender / "torch" / "optim.py").write_text("def SGD(parameters): raise RuntimeError('no dynamo')\n")
    probed = _probe(lender)
    assert (probed.returncode, probed.stderr.splitlines()[-1]) == (1, "RuntimeError: no dynamo")


def test_each_gpu_computes_and_all_sum(lender):
    probed = _probe(lender, CUDA_VISIBLE_DEVICES="GPU-a,GPU-b", SEEN="2")
    assert probed.returncode == 0, probed.stderr
    report = json.loads(probed.stdout.splitlines()[-1])
    assert [gpu["uuid"] for gpu in report["gpus"]] == ["GPU-0", "GPU-1"]
    assert report["collective"] == {"backend": "nccl", "ranks": 2}


def test_gpus_that_torch_does_not_see_are_not_reported(lender):
    probed = _probe(lender, CUDA_VISIBLE_DEVICES="GPU-a,GPU-b", SEEN="1")
    assert len(json.loads(probed.stdout.splitlines()[-1])["gpus"]) == 1


@pytest.mark.parametrize(
    ("variables", "step", "message"),
    [
        (
            {"WRONG": "(0,)"},
            "product",
            "RuntimeError: a product on NVIDIA H200 is off by 0.5 (relative)",
        ),
        ({"ALONE": "0"}, "collective", "RuntimeError: no peer"),
    ],
)
def test_a_rank_that_fails_is_told_with_its_step(lender, variables, step, message):
    probed = _probe(lender, CUDA_VISIBLE_DEVICES="GPU-a", SEEN="1", **variables)
    assert (probed.returncode, probed.stderr.splitlines()[-1]) == (1, message)
    assert prober._step(probed.stdout) == step
