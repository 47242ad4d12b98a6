# SPDX-License-Identifier: Apache-2.0
"""metrics.prom, read by Prometheus' own parsers; and that the examples ask for metrics that it has."""

import json
import re
import shutil
import subprocess

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from runners.plays import REPOSITORY
from samples.fleets import accepted, edited, value
from samples.folders import FAIL, LEFT, PASS, add_host, fill, fill_accepted, three_hosts

from rekindle.records import LeaseRecord, write_record
from rekindle.report.metrics import render_metrics
from rekindle.report.reports import write_reports
from rekindle.results.contents import gather_results

FALLS_SHORT = "fail-final-accuracy-at-least-is-required"
CONTRIB = REPOSITORY / "contrib"
needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not here")


@pytest.fixture
def folder(tmp_path):
    """Return a run of three hosts, of which one has been accepted and has a lease."""
    folder = three_hosts(tmp_path / "r")
    write_record(folder / "gpu-1/acceptance.json", accepted("gpu-1"))
    ends = LeaseRecord(host="gpu-1", started="2026-11-21T02:00:00Z", ends="2026-11-21T18:00:00Z")
    write_record(folder / "gpu-1/lease.json", ends)
    return folder


def samples(folder):
    """Return the value of each metric by its name and labels, which are in the order of their names."""
    text = render_metrics(gather_results(folder)).decode()
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    values = {
        (sample.name.removeprefix("rekindle_"), *sample.labels.values()): sample.value for sample in found
    }
    assert len(values) == len(found)
    return values


def promtool(*words, text=None):
    return subprocess.run(["promtool", *words], input=text, capture_output=True, check=False, timeout=60)


def test_it_has_verdicts_times_rounds_figures_leases_and_the_run(folder):
    found = samples(folder)
    expected = {
        ("run_passed", "r"): 0,
        ("run_started_timestamp_seconds", "r"): 1795226400,
        ("hosts", "r", "PASS"): 1,
        ("hosts", "r", "FAIL"): 1,
        ("hosts", "r", "SKIPPED"): 1,
        ("verdict", "", "gpu-1", "pt_ddp", "", "true", "PASS"): 1,
        ("verdict", FALLS_SHORT, "gpu-2", "pt_ddp", "", "true", "FAIL"): 1,
        ("verdict", "skipped-no-verdict-was-collected", "gpu-3", "", "", "true", "SKIPPED"): 1,
        ("cause_hosts", FALLS_SHORT, "", "Final accuracy #; at least # is required.", "true", "FAIL"): 1,
        ("job_duration_seconds", "gpu-1", "pt_ddp"): 200.4,
        ("job_started_timestamp_seconds", "gpu-1", "pt_ddp"): 1795226400,
        ("job_rounds", "gpu-1", "pt_ddp"): 3,
        ("lease_end_timestamp_seconds", "gpu-1"): 1795284000,
        ("acceptance", "gpu-1", "PASS"): 1,
        ("host_action", "NONE", "gpu-1"): 1,
        ("acceptance", "gpu-2", "UNPROVEN"): 1,
    }
    assert {name: found.get(name) for name in expected} == expected


def test_a_hosts_worst_gpu_has_its_figures(tmp_path):
    slow = edited(accepted("gpu-1"), "bf16_matmul", value(500.0), 3)
    figures = {
        name[1:]: value
        for name, value in samples(fill_accepted(tmp_path, slow)).items()
        if name[0] == "worst_gpu_figure"
    }
    assert figures["bf16_matmul", "gpu-1", "NVIDIA H200", "TFLOP/s"] == 500
    assert len(figures) < 15  # 3,000 lines for 200 hosts
    assert len({name for name, *_ in figures}) == len(figures)


def test_hosts_that_fail_alike_are_one_alert(tmp_path):
    fill(tmp_path, *(f"gpu-{n}" for n in range(1, 9)))
    for n in range(1, 9):
        add_host(tmp_path, f"gpu-{n}", verdict=replace(FAIL, layer="job", cause=f"It lacks {n} of 9 files."))
    found = {name: value for name, value in samples(tmp_path).items() if name[0] == "cause_hosts"}
    name = "fail-it-lacks-of-files"
    assert found == {("cause_hosts", name, "job", "It lacks # of # files.", "true", "FAIL"): 8}


def test_it_is_a_report_like_the_others(folder):
    results = write_reports(folder)
    assert (folder / "metrics.prom").read_bytes() == render_metrics(results)


def test_texts_that_a_host_sent_break_no_line(tmp_path):
    name = 'a"} 1\nrekindle_verdict{b="\\\x1b[2J'
    add_host(fill(tmp_path, "gpu-1", "gpu-1"), "gpu-1", verdict=replace(PASS, job=name, started="then"))
    results = gather_results(tmp_path)
    text = render_metrics(results)
    assert text.count(b"\nrekindle_verdict{") == len({(row.host, row.job) for row in results.rows})
    assert b"\x1b" not in text
    assert samples(tmp_path)


def test_a_run_without_anything_has_metrics_too(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", host=None, plan=None, verdict=None, left=LEFT)
    assert samples(tmp_path)["verdict", "skipped-the-lease-ended", "gpu-1", "", "", "true", "SKIPPED"] == 1


@needs_promtool
def test_promtool_finds_nothing_in_it_and_finds_what_is_wrong(folder):
    text = render_metrics(gather_results(folder))
    done = promtool("check", "metrics", text=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert promtool("check", "metrics", text=text.replace(b"# HELP", b"# HLEP")).returncode


@needs_promtool
def test_promtool_reads_the_rules():
    done = promtool("check", "rules", CONTRIB / "alerts.yml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["alerts.yml", "dashboard.json"])
def test_the_examples_ask_for_what_there_is(folder, name):
    text = (CONTRIB / name).read_text()
    there = set(re.findall(r"^# TYPE (\S+)", render_metrics(gather_results(folder)).decode(), re.MULTILINE))
    asked = set(re.findall(r"\brekindle_(?!max_age)\w+", text))
    assert len(asked) > 3
    assert asked <= there
    if name.endswith(".json"):
        assert len(json.loads(text)["panels"]) == 8
