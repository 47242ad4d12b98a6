# SPDX-License-Identifier: Apache-2.0
"""What flare_jobs/acceptance measures, with stand-ins for nvidia-smi and for the GPUs' own processes."""

import json
import os
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from runners.commands import capture_command
from samples.mig_hosts import cut_gpus, list_instances, name_instance

from rekindle.acceptance import evaluate_figures, judge_acceptance
from rekindle.records import AcceptanceRecord
from rekindle.records.base import decode_json

JOB = Path(__file__).parents[3] / "flare_jobs" / "acceptance"
UUIDS = ("GPU-add2de73-411c-40ec-8f93-a762433e4cf4", "GPU-eb463e3f-6e6e-cda2-131c-5118c6a5a672")
SMI = """#!/bin/sh
case "$*" in
    '-q -x') cat {recordings}/h200-x2-nvidia-smi-q.xml ;;
    'nvlink -s') cat {recordings}/h200-x2-nvlink-s.txt ;;
    'nvlink -e')
        echo >>{folder}/asked
        sed "s/^\\(.* Link [0-9]*: \\).*/\\1CRC Errors: $(wc -l <{folder}/asked)/" \\
            {recordings}/h200-x2-nvlink-s.txt ;;
    'topo -m') cat {recordings}/h200-x2-topo-m.txt ;;
    *-lms*)
        for uuid in {uuids}; do
            echo "2026/11/22 20:00:00.000, $uuid, 1980, 650, 60, 5, 0x0000000000000004"
            echo "2026/11/22 20:00:01.000, $uuid, 990, 600, 90, 5, 0x0000000000000048"
        done
        exec sleep 60 ;;
    --query-gpu=clocks_event_reasons.active*) ;;
    '-L') ;;
    *) exit 2 ;;
esac
"""
RANK = """
import json, os, sys
folder, rank = sys.argv[1], int(os.environ["RANK"])
uuid = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[rank]
log = "x NCCL INFO 24 coll channels, 0 collnet channels, 16 nvls channels\\n"
log += "x NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\\n" * 2
log += "x NCCL INFO Channel 01 : 1[1] -> 0[0] via SHM/direct/direct\\n"
open(f"{folder}/nccl-{rank}.log", "w").write(log)
figure = {"name": "bf16_matmul", "gpu": uuid, "value": 790.0 + rank, "unit": "TFLOP/s", "message": "x"}
both = figure | {"name": "all_reduce", "gpu": None, "size": 1 << 30, "message": "bus bandwidth"}
json.dump([figure, both][: 2 - rank], open(f"{folder}/rank-{rank}.json", "w"))
"""


COPIES = """
import json, os, sys
from pathlib import Path
folder, rank, names = Path(sys.argv[1]), int(os.environ["RANK"]), sys.argv[3:]
uuid = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[rank]
looks = Path("../looks", str(rank))
looks.parent.mkdir(exist_ok=True)
number = len(looks.read_text().splitlines()) if looks.exists() else 0
looks.open("a").write(" ".join(names) + "\\n")
rates, wrong = {rates}, {wrong}
figures = [
    {{"name": "host_to_device", "unit": "GB/s", "value": rates[number] if rank == 0 else 54.0}},
    {{"name": "product_differs", "unit": "values", "value": wrong[number]}},
]
figures = [{{"gpu": uuid, "message": "x"}} | figure for figure in figures]
(folder / f"rank-{{rank}}.json").write_text(json.dumps(figures))
"""


@pytest.fixture
def measure(recordings, tmp_path):
    """Return a function that runs the job with another ranks.py, on GPUs by UUID, and returns its process."""
    (tmp_path / "bin").mkdir()
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.write_text(SMI.format(recordings=recordings, uuids=" ".join(UUIDS), folder=tmp_path))
    smi.chmod(0o755)
    job = copytree(JOB, tmp_path / "job", ignore=ignore_patterns("__pycache__"))
    again = job / "again.py"
    again.write_text(again.read_text().replace("time.sleep(pause)", "time.sleep(pause / 150)"))
    (tmp_path / "evidence").mkdir()
    (tmp_path / "spec.json").write_text('{"host": "h200"}')
    environ = {
        **os.environ,
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(JOB.parents[1] / "src"),
        "REKINDLE_EVIDENCE": str(tmp_path / "evidence"),
        "REKINDLE_NONCE": "n",
        "REKINDLE_DRIVER": sys.executable,
    }

    def run(ranks=RANK, uuids=UUIDS, *options):
        (job / "ranks.py").write_text(ranks)
        words = ["job.py", "--gpu", f"[{','.join(uuids)}]"]
        return capture_command(
            # A Python without our packages, as the environment of the GPUs' framework is.
            [f"{sys.base_prefix}/bin/python3", *words, *options],
            cwd=job,
            env=environ,
        )

    return run


def _figures(tmp_path):
    event = json.loads((tmp_path / "evidence" / "acceptance.jsonl").read_text())
    assert event["nonce"] == "n"
    record = decode_json(json.dumps(event["record"]), AcceptanceRecord)
    return record, {(measurement.name, measurement.gpu): measurement for measurement in record.measurements}


def test_all_that_is_seen_of_a_host_is_one_record(measure, tmp_path):
    done = measure()
    assert done.returncode == 0, done.stderr
    record, figures = _figures(tmp_path)
    kind = record.kind
    assert (record.host, record.mode, kind.model, kind.count) == ("h200", "short", "NVIDIA H200", 2)
    assert (kind.topology, kind.nvls, kind.driver) == ("NV18", True, "580.159.04")
    assert [gpu.index for gpu in record.gpus] == [0, 1]
    assert figures["bf16_matmul", UUIDS[1]].value == 791
    link = figures["pcie_generation", UUIDS[0]]
    assert (link.value, link.norm, bool(link.source)) == (5, 5, True)
    assert figures["all_reduce", None].message == "bus bandwidth, by P2P/CUMEM and SHM/direct"
    assert figures["nvlinks_up", UUIDS[0]].value == 18
    assert figures["nvlink_errors", UUIDS[1]].value == 18
    assert figures["ecc_uncorrected", UUIDS[0]].value == 0
    assert figures["throttled", UUIDS[0]].value == 50
    assert figures["root_write", None].value > 0
    assert {condition.throttle for condition in record.conditions} == {
        ("sw_power_cap",),
        ("hw_slowdown", "hw_thermal_slowdown"),
    }


def _copies(rates, wrong=(0, 0, 0, 0)):
    return COPIES.format(rates=[*rates], wrong=[float(count) for count in wrong])


def test_a_good_second_look_is_taken_at_once_and_ends_it(measure, tmp_path):
    done = measure(_copies((38.5, 54.0)))
    assert done.returncode == 0, done.stderr
    assert "Worse than it should be: host_to_device. Look 1 of 3 in 0 s." in done.stdout
    assert "Look 2" not in done.stdout
    record, figures = _figures(tmp_path)
    assert [again.value for again in figures["host_to_device", UUIDS[0]].again] == [54.0]
    assert len(record.looks) == 2
    noted = [
        flaw
        for flaw in judge_acceptance(evaluate_figures(record)).flaws
        if flaw.measurement == "host_to_device"
    ]
    assert [flaw.verdict for flaw in noted] == [None]


def test_what_stays_worse_is_measured_three_times_more_and_each_look_is_recorded(measure, tmp_path):
    done = measure(_copies((38.5, 47.0, 47.2, 53.9)))
    assert done.returncode == 0, done.stderr
    looks = [line.rpartition(" in ") for line in done.stdout.splitlines() if "Look " in line]
    assert [(look[-11:], pause) for look, _, pause in looks] == [
        ("Look 1 of 3", "0 s."),
        ("Look 2 of 3", "15 s."),
        ("Look 3 of 3", "15 s."),
    ]
    record, figures = _figures(tmp_path)
    first, other = (figures["host_to_device", uuid] for uuid in UUIDS)
    assert (first.value, [again.value for again in first.again]) == (38.5, [47.0, 47.2, 53.9])
    assert (other.value, [again.value for again in other.again]) == (54.0, [54.0] * 3)
    assert [again.value for again in figures["ecc_uncorrected", UUIDS[0]].again] == [0.0] * 3
    assert (tmp_path / "looks" / "0").read_text().splitlines() == ["", *["host_to_device"] * 3]
    assert len(record.looks) == 4
    assert [look.seconds for look in record.looks] == sorted(look.seconds for look in record.looks)
    assert record.looks[1].before[0].gpu == UUIDS[0]
    assert record.looks[1].before[0].pcie_received_mb_s == 0.548


@pytest.mark.parametrize(("rates", "wrong"), [((54.0,), (0,)), ((38.5,), (3,)), ((54.0,), (3,))])
def test_where_nothing_is_slow_or_a_result_is_wrong_there_is_no_further_look(measure, tmp_path, rates, wrong):
    assert measure(_copies(rates, wrong)).returncode == 0
    record, figures = _figures(tmp_path)
    assert len(record.looks) == 1
    assert not any(figure.again for figure in figures.values())
    assert (tmp_path / "looks" / "0").read_text() == "\n"


def test_no_look_is_taken_that_would_not_end_before_the_jobs_limit(measure, tmp_path):
    (tmp_path / "spec.json").write_text('{"host": "h200", "job": {"limit_s": 60}}')
    assert measure(_copies((38.5,))).returncode == 0
    assert len(_figures(tmp_path)[0].looks) == 1


def test_a_burn_records_when_it_was_slowed(measure, tmp_path):
    assert measure(RANK, UUIDS, "--minutes=0.01").returncode == 0
    record, figures = _figures(tmp_path)
    assert record.mode == "burn"
    assert figures["time_to_throttle", UUIDS[0]].value == 1
    assert ("clock_slope", UUIDS[0]) in figures


def test_a_process_that_fails_ends_the_others_and_is_named(measure, tmp_path):
    done = measure("import os, sys, time\nsys.exit(3) if os.environ['RANK'] == '1' else time.sleep(60)")
    assert done.returncode == 1
    assert done.stderr == "The process of GPU 1 ended with status 3.\n"
    assert not (tmp_path / "evidence" / "acceptance.jsonl").exists()


def test_a_gpu_that_nvidia_smi_does_not_show_is_named(measure):
    done = measure(RANK, (UUIDS[0], "GPU-x"))
    assert done.returncode == 1
    assert done.stderr == "nvidia-smi does not show GPU-x: it was lost. Fix: restart the host.\n"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("echo 'Unable to get GPU1'", "gave no complete XML document but: Unable to"),
        ("exit 9", "gave no complete XML document but: nothing"),
    ],
)
def test_an_nvidia_smi_without_an_answer_is_one_sentence(measure, tmp_path, answer, message):
    (tmp_path / "bin" / "nvidia-smi").write_text(f"#!/bin/sh\n{answer}\n")
    done = measure()
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.endswith("Fix: restart the host.\n")
    assert "Traceback" not in done.stderr


OF_AN_INSTANCE = """
import json, os, sys
uuid, rank = os.environ["CUDA_VISIBLE_DEVICES"], os.environ["RANK"]
figure = {"gpu": uuid, "unit": "TFLOP/s", "name": "bf16_matmul", "value": 90.0}
json.dump([figure | {"message": os.environ["WORLD_SIZE"]}], open(f"{sys.argv[1]}/rank-{rank}.json", "w"))
"""


def test_each_mig_instance_is_measured_by_a_process_that_sees_it_alone_and_has_no_norm(
    measure, recordings, tmp_path
):
    xml = cut_gpus((recordings / "h200-x2-nvidia-smi-q.xml").read_text(), busy=1)
    (tmp_path / "cut.xml").write_text(xml)
    (tmp_path / "listing").write_text(list_instances(xml))
    smi = tmp_path / "bin" / "nvidia-smi"
    text = smi.read_text().replace("'-L') ;;", f"'-L') cat {tmp_path}/listing ;;")
    smi.write_text(text.replace(f"{recordings}/h200-x2-nvidia-smi-q.xml", f"{tmp_path}/cut.xml"))
    own = [name_instance(0, number) for number in range(2)]
    done = measure(OF_AN_INSTANCE, own)
    assert done.returncode == 0, done.stderr
    record, figures = _figures(tmp_path)
    assert record.kind.model == "NVIDIA H200 MIG 1g.18gb + NVIDIA H200 MIG 3g.71gb"
    assert [gpu.index for gpu in record.gpus] == [0, 0]
    assert [figures["bf16_matmul", uuid].message for uuid in own] == ["2", "2"]
    assert [figures["memory_in_use_before", uuid].value for uuid in own] == [0, 700]
    evaluated = evaluate_figures(record)
    assert {figure.norm for figure in evaluated.measurements if figure.name == "bf16_matmul"} == {None}
    missing = {flaw.measurement for flaw in judge_acceptance(evaluated).flaws}
    assert not missing & {"all_reduce", "peer_copy", "collective_errors"}
