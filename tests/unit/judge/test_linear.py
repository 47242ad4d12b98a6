# SPDX-License-Identifier: Apache-2.0
"""What a host sends, as large as its bounds allow, is read in time that grows as its size does."""

import dataclasses
import json
import time
from xml.etree.ElementTree import Element

import pytest
from msgspec.structs import replace
from samples.results import make_result

from rekindle.environments.indexes import mask_credentials
from rekindle.hostfacts import nvidia
from rekindle.hostfacts.frames import FactsError, Frame, parse_frames
from rekindle.judge import judge_run, summary
from rekindle.judge.check import check_run
from rekindle.judge.checks import exchange, gpus, messages, outputs, times
from rekindle.judge.opener import open_run, open_workspace
from rekindle.records import Device, EnvRecord, HostRecord, JobRound, PlanRecord, read_record, write_record
from rekindle.records.events import DeviceEvent, GpuSample, RoundEvent, SampleEvent
from rekindle.records.evidence import EvidenceLine
from rekindle.report.html import make_plots
from rekindle.report.reports import write_reports


def steps(work, size):
    """Return the seconds of processor time that ``work(size)`` takes, the best of three."""

    def once():
        argument = size
        began = time.process_time()
        work(argument)
        return time.process_time() - began

    return min(once() for _ in range(3))


def assert_linear(make, read_it, n):
    """Four times the input takes far less than the 16 times of a square; what is over at once is none."""
    small, large = make(n), make(4 * n)
    small_s, large_s = steps(read_it, small), steps(read_it, large)
    assert large_s < 8 * small_s + 0.05, (small_s, large_s)


def _module(n):
    return {"driver-proc": Frame("0", "Kernel Module " * n), "driver-sys": Frame("1", "")}


HOSTILE = {
    "no end of the document": (lambda n: "<nvidia_smi_log>" * n, nvidia.parse_document),
    "no version of the module": (_module, lambda frames: nvidia.find_driver(frames, None, None)),
    "no end of a UUID": (lambda n: "GPU 0: " + "UUID: " * n, nvidia._nvlinks),
    "no user of a proxy": (lambda n: "a:b" * n, mask_credentials),
    "no end of a prefix of Flower's": (lambda n: "INFO x " * n, outputs._flower_losses),
    "no end of Flower's losses": (lambda n: "'a': [" * n, outputs._flower_losses),
    "no query of a URL": (lambda n: "://" * n + " ://x@" * n, mask_credentials),
    "GPUs without a handle": (
        lambda n: "".join(
            f"Unable to determine the device handle for GPU{i:08X}:00:00.0: lost\n" for i in range(n)
        ),
        lambda text: nvidia._gpus(Element("log"), [], {name: Frame("0", text) for name in nvidia.COMMANDS}),
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hosts_answer_is_read_in_linear_time(name):
    make, read_it = HOSTILE[name]
    assert_linear(make, read_it, 1_000)


def test_an_answer_without_end_is_refused_at_once():
    with pytest.raises(FactsError, match=r"more than 8 MiB; .*Fix:"):
        parse_frames("@@n end 0\n" + "x" * (8 << 20), "n")


def _round(number):
    figures = {"samples": 10, "seconds": 1.0, "losses": (1.0,), "metrics": {}}
    models = {"model_in": "a" * 64, "model_out": "b" * 64}
    return RoundEvent(time=1.0 + number, site="site-1", rank=0, round=number, **figures, **models)


def _device(pid):
    fields = {
        "device": "cuda:0",
        "uuid": "GPU-1",
        "name": "H200",
        "backend": "nccl",
        "node": "n",
    }
    return DeviceEvent(time=0.0, site="site-1", rank=0, pid=pid, **fields)


def _sample(at, pid):
    held = GpuSample(utilisation=5, used_mib=9, processes={str(pid): 7}, process_utilisation={str(pid): 3})
    return SampleEvent(time=float(at), gpus={"GPU-1": held})


def _rounds(n):
    return [_round(i) for i in range(n)]


def _trainers(n):
    return [*map(_device, range(n)), *(_sample(i, i) for i in range(n))]


@pytest.fixture
def a_run(clean_run):
    """Return the recorded run with events of our own instead of its own."""
    run = open_run(clean_run)

    def made(events):
        return dataclasses.replace(run, lines=[EvidenceLine(event, "f", 1) for event in events])

    return made


def _every_rank(run):
    return [run.ranks.rounds(site.name, rank) for site in run.spec.sites for rank in range(50)]


READERS = {
    "rounds of every rank": (_rounds, _every_rank),
    "samples of a round": (_rounds, summary.summarise_rounds),
    "devices and samples": (_trainers, summary.summarise_devices),
    "trainers of a GPU": (_trainers, lambda run: gpus._warm(run, "GPU-1", ["site-1 rank 0"])),
    "results of a task": (
        lambda n: [make_result("site-1", i) for i in range(4 * n)],  # a square of fewer takes no time either
        lambda run: list(exchange.server_recorded_every_result(run)),
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_a_runs_events_are_read_in_linear_time(name, a_run):
    make, read_it = READERS[name]
    assert_linear(make, lambda events: read_it(a_run(events)), 500)


SERVER_LOG = "job/workspace/pt_ddp/server/log.txt"
LINES = {
    "streamed": "produced blobs for peer 'site-1' with 1 tensors, ",
    "quantised": "Quantized 1/1 params. Before quantization: 1",
    "given": "assigned task to client a: name=train, id=",
    "context": "[identity=a, wf=controller, task_id=",
    "aggregated": "Aggregated 1/",
}


@pytest.mark.parametrize("name", LINES)
def test_a_log_of_one_long_line_is_read_in_linear_time(name, clean_run):
    options = {"at_most_share": 1.0}

    def judged(text):
        (clean_run / SERVER_LOG).write_text(f"2026-11-21 08:48:20,250 - FedAvg - INFO - {text}")
        run = open_run(clean_run)
        messages.tensors_streamed(run, {})
        messages.messages_quantised(run, options)
        times._server_clock(run)
        check_run(open_workspace(run.workspace))

    assert_linear(lambda n: (LINES[name] + "(1") * n, judged, 1_000)


def test_figures_of_a_log_that_are_no_numbers_end_no_judge(clean_run):
    texts = [
        "Quantized 1/1 params. Before quantization: 1.2.3 MB. After quantization: 1. MB with meta: . MB",
        f"produced blobs for peer 'site-1' with {'9' * 5000} tensors, size ({'9' * 5000} bytes)",
        f"Round {'9' * 5000} started.",
    ]
    lines = (f"2026-11-21 08:48:20,250 - FedAvg - INFO - {line}\n" for line in texts)
    (clean_run / SERVER_LOG).write_text("".join(lines))
    run = open_run(clean_run)
    assert messages.messages_quantised(run, {"at_most_share": 1.0}).state == "fails"
    assert messages.tensors_streamed(run, {}).state == "fails"
    assert times._server_clock(run)[0] == {}


def _largest(recordings, host):
    """Return a verdict as large as its record may be."""
    verdict = judge_run(recordings / "runs/pt_ddp-h100-x2")
    rounds = tuple(
        JobRound(round=n, site=f"s{n}", loss=1e100, metrics={f"m{n}": -1e100}, samples=1 << 53, seconds=4e9)
        for n in range(100_000)
    )
    devices = tuple(Device(site=f"s{n}", rank=n, device="d" * 4_000, name=f"{n}") for n in range(1_000))
    most = {"rounds": rounds, "devices": devices, "cause": "x" * 4_000}
    return replace(verdict, host=host, job="pt_ddp", verdict="FAIL", **most)


def test_the_largest_records_of_a_host_are_reported_beside_the_others(tmp_path, recordings):
    kinds = {"host.json": HostRecord, "plan.json": PlanRecord, "env.json": EnvRecord}
    for host in ("large", "small"):
        for name, kind in kinds.items():
            record = replace(read_record(recordings / "h200-x2" / name, kind), host=host)
            if kind is PlanRecord:
                record = replace(record, jobs=("pt_ddp",))
            write_record(tmp_path / host / name, record)
    write_record(tmp_path / "large/pt_ddp/verdict.json", _largest(recordings, "large"))
    small = judge_run(recordings / "runs/pt_ddp-h100-x2")
    write_record(tmp_path / "small/pt_ddp/verdict.json", replace(small, host="small"))
    (tmp_path / "run.json").write_text(
        '{"schema": "rekindle/run/1", "run": "r", "started": "2026-11-21T02:15:00Z", '
        '"hosts": ["large", "small"]}'
    )
    began = time.process_time()
    results = write_reports(tmp_path)
    assert time.process_time() - began < 20
    assert [row.kind for row in results.rows] == ["FAIL", "PASS"]
    assert (tmp_path / "report.html").stat().st_size < 32 << 20
    json.loads((tmp_path / "results.json").read_text(), parse_constant=pytest.fail)


def test_a_plot_has_a_bounded_number_of_figures_lines_and_points(recordings):
    verdict = _largest(recordings, "large")
    found = make_plots(verdict)
    assert len(found) <= 13
    assert all(len(figure.series) <= 25 for figure in found)
    of_one_site = tuple(replace(job_round, site="s", metrics={}) for job_round in verdict.rounds)
    (loss,) = make_plots(replace(verdict, rounds=of_one_site))
    (line,) = loss.series
    assert 200 <= len(line.points) <= 300
    assert line.points[-1][0] == 350.0
