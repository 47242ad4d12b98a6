# SPDX-License-Identifier: Apache-2.0
"""Who holds the memory of a GPU that has none left."""

import json

import pytest
from msgspec.structs import replace

from rekindle.doctor import diagnose_run, diagnose_texts, texts
from rekindle.records import GivenGpu, GpuProcess, RunSpec, read_record, write_record

FREE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 572.00 MiB. "
    "GPU 0 has a total capacity of 39.49 GiB of which 321.31 MiB is free. "
)
OTHER = "Process 3721648 has 414.00 MiB memory in use. "
OWN = "Including non-PyTorch memory, this process has 37.46 GiB memory in use. "
"""awslabs/keys_values issue 92."""
SMI = "|    0   N/A  N/A          {pid}      C   python3                                   140829MiB |\n"


def _cause(*pairs):
    return (
        diagnose_texts([texts.decode_text(file, content.encode()) for file, content in pairs])
        .findings[0]
        .cause
    )


WORKER = "python -m nvflare.simulator.simulator_worker -o w --client site-2 --token x"


@pytest.mark.parametrize("command", [WORKER, "python job.py --client_ids site-1", None])
def test_nvidia_smi_and_the_runs_own_processes_name_the_holder(golden, command):
    line = "{} of 1 sleeping 3.0 s 900 MiB do_epoll_wait {}\n"
    golden(
        _cause(
            ("site-1/log.txt", "CUDA_ERROR_OUT_OF_MEMORY"),
            ("autopsy/nvidia-smi.txt", SMI.format(pid=4711)),
            ("autopsy/processes.txt", line.format(4711, command) if command else line.format(12, "python")),
        )
    )


def test_torch_names_the_other_process_and_without_its_message_nobody_is_blamed(golden):
    golden(_cause(("log.txt", FREE + OTHER + OWN)), _cause(("log.txt", "CUDA_ERROR_OUT_OF_MEMORY")))


def test_samples_name_the_other_site(tmp_path):
    (tmp_path / "evidence").mkdir()
    device = {"event": "device", "time": 1.0, "site": "site-2", "rank": 0, "local_rank": 0, "pid": 99}
    device |= {"device": "cuda:0", "uuid": "GPU-a", "name": "H200", "backend": "nccl", "node": "n1"}
    (tmp_path / "evidence/site-2.rank-0.jsonl").write_text(json.dumps(device) + "\n")
    used = {"utilisation": 0, "used_mib": 9, "processes": {"99": 8}}
    sample = {"event": "sample", "time": 2.0, "gpus": {"GPU-a": used}}
    (tmp_path / "samples.jsonl").write_text(json.dumps(sample) + "\n")
    (tmp_path / "site-1").mkdir()
    (tmp_path / "site-1/log.txt").write_text("CUDA_ERROR_OUT_OF_MEMORY\n")
    assert (
        diagnose_run(tmp_path).findings[0].cause.endswith("It is held by process 99 (site-2 rank 0): 8 MiB.")
    )


def test_the_spec_names_earlier_processes_and_no_file_beside_the_run_does(tmp_path, recordings):
    record = json.loads((recordings / "h200-x2/host.json").read_text())
    record["gpus"][0]["processes"] = [{"pid": 7, "name": "another", "memory_mib": 100}]
    (tmp_path / "host.json").write_text(json.dumps(record))
    (tmp_path / "job/site-1").mkdir(parents=True)
    (tmp_path / "job/site-1/log.txt").write_text(FREE + OTHER.replace("3721648", "7"))
    assert diagnose_run(tmp_path / "job").findings[0].cause.endswith("held by process 7: 414.00 MiB.")
    before = GpuProcess(pid=7, name="vllm", memory_mib=100)
    gpu = GivenGpu(uuid="GPU-a", index=0, name=None, memory_mib=None, processes=(before,))
    spec = replace(read_record(recordings / "runs/pt_ddp-cpu-2/spec.json", RunSpec), gpus=(gpu,))
    held = "process 7 (vllm, there before the run): 414.00 MiB."
    assert diagnose_run(tmp_path / "job", spec).findings[0].cause.endswith(held)
    write_record(tmp_path / "job/spec.json", spec)
    assert diagnose_run(tmp_path / "job").findings[0].cause.endswith(held)


def test_a_process_that_came_in_mid_start_is_the_hosts_by_what_the_driver_sampled(tmp_path):
    (tmp_path / "evidence").mkdir()
    raised = {"event": "exception", "time": 3.0, "site": "site-1", "rank": 0, "kind": "AcceleratorError"}
    raised |= {
        "message": "CUDA error: out of memory\nCUDA kernel errors might be",
        "place": "__init__.py:638",
    }
    (tmp_path / "evidence/site-1.rank-0.jsonl").write_text(json.dumps(raised) + "\n")
    used = {"utilisation": 0, "used_mib": 9, "processes": {"77": 80000, "99": 400}}
    worked = {"site-1": {"nvflare_s": 1.0, "others_s": 1.0, "pids": [99]}}
    sample = {"event": "sample", "time": 2.0, "gpus": {"GPU-a": used}, "worked": worked}
    (tmp_path / "samples.jsonl").write_text(json.dumps(sample) + "\n")
    cause = diagnose_run(tmp_path).cause
    assert (cause.name, cause.layer) == ("gpu_memory_taken", "host")
    assert cause.cause.endswith(
        "process 77 (no process of the run): 80000 MiB; process 99 (of site-1): 400 MiB."
    )
    sample["worked"]["site-1"]["pids"].append(77)
    (tmp_path / "samples.jsonl").write_text(json.dumps(sample) + "\n")
    assert diagnose_run(tmp_path).cause.layer == "framework"
