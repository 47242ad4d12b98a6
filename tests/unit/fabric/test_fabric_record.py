# SPDX-License-Identifier: Apache-2.0
"""From a fabric's record to what people see: each host's part, its verdict, its row, the heat map."""

import json
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from samples.folders import HOST, NOW, PLAN, add_host, fill, rows

from rekindle.fabric.judgement import judge_fabric
from rekindle.fabric.parts import make_parts
from rekindle.fabric.schedule import list_rounds
from rekindle.fabric.verdicts import judge_hosts
from rekindle.fabric.wire import make_token
from rekindle.host import folders, nccl
from rekindle.records import Allocation, Complaint, EnvRecord, read_record, write_record
from rekindle.records.fabric import FABRIC, Bandwidth, FabricLook, FabricRecord
from rekindle.report.fabric import draw_heat_map, format_fabric
from rekindle.report.reports import write_reports

RECORDINGS = Path(__file__).parents[2] / "recordings"


@pytest.fixture
def results(tmp_path, network):
    """Return a results folder with four hosts, whose link between h1 and h3 is slow."""
    four = network(4)
    four.set_rate("h1", "h3", 1.0)
    record = replace(four.survey(), started=NOW)
    fill(tmp_path, *four.hosts, began=dict.fromkeys(four.hosts, NOW))
    write_record(tmp_path / folders.FABRIC_RECORD, record)
    for verdict in judge_hosts(record):
        add_host(tmp_path, verdict.host, plan=replace(PLAN, jobs=()), verdict=None)
        write_record(tmp_path / verdict.host / FABRIC / folders.VERDICT, verdict)
    return tmp_path


def test_each_host_has_a_row_and_both_ends_of_a_slow_link_fail(results):
    kinds = {"h0": "PASS", "h1": "FAIL", "h2": "PASS", "h3": "FAIL"}
    assert rows(results) == [(host, FABRIC, kind) for host, kind in kinds.items()]
    written = write_reports(results)
    assert not written.passed
    page, data = (results / "report.html").read_text(), json.loads((results / "results.json").read_text())
    assert "Bandwidth host × host, all-reduce of 16 MiB, GB/s, median 10, all together 1, over TCP" in page
    assert page.count('class="h4"') == 2
    assert "The link between h1 and h3 has 1 GB/s at 16 MiB, 90% less than" in page
    assert {row["action"] for row in data["rows"] if row["verdict"] == "FAIL"} == {"RETEST"}
    assert data["rows"][0]["metrics"] == {"all_reduce_gb_s": 10.0, "latency_us": 50.0}


def test_a_verdict_of_an_earlier_playbook_is_no_row_of_this_one(results):
    later = "2026-12-01T00:00:00Z"
    fill(results, "h0", "h1", "h2", "h3", began=dict.fromkeys(("h0", "h1", "h2", "h3"), later))
    assert FABRIC not in {job for _, job, _ in rows(results)}


def test_the_pairs_of_hundreds_of_hosts_are_judged_and_drawn_in_seconds():
    hosts = tuple(f"h{number:03}" for number in range(256))
    looks = tuple(
        FabricLook(
            hosts=pair,
            outcome="measured",
            bandwidths=tuple(
                Bandwidth(op="all_reduce", size=1 << power, gb_s=10 + number * 7919 % 1000 / 1e4)
                for power in (20, 28)[: 1 + number % 2]
            ),
        )
        for number, pair in enumerate(pair for step in list_rounds(hosts) for pair in step)
    )
    record = FabricRecord(hosts=hosts, started=NOW, seconds=1, looks=looks)
    began = time.process_time()
    assert judge_fabric(record) == ()
    assert sum(paths.count("M") for paths in draw_heat_map(record).dots.values()) == 256 * 255
    assert time.process_time() - began < 10  # a median for each pair takes minutes


def test_many_hosts_are_a_picture_and_few_a_table(network):
    few, many = network(4).survey(), network(30).survey()
    assert "GB/s" in format_fabric(few, 100, colour=False)
    assert format_fabric(many, 100, colour=False) == ""
    heat = draw_heat_map(many)
    assert (heat.rows, list(heat.dots), heat.dots[0].count("M")) == ([], [0], 30 * 29)


def test_a_pair_without_a_result_is_the_hottest(network):
    four = network(4)
    failed = {"outcome": "failed", "message": "<b>no</b>", "bandwidths": (), "latency_us": None}
    four.faults = [lambda group: failed if group == {"h0", "h3"} else None]
    cell = draw_heat_map(four.survey()).rows[0][3]
    assert (cell.text, cell.level, cell.title) == ("–", 5, "h0, h3: failed")


def test_where_no_pair_has_a_result_no_size_is_shown(network):
    four = network(4)
    four.faults = [lambda group: {"outcome": "failed", "message": "no", "bandwidths": (), "latency_us": None}]
    assert draw_heat_map(four.survey()).caption == "Bandwidth host × host: no pair has a result"


def test_a_pass_without_a_measurement_is_none(network):
    (verdict, *_) = judge_hosts(network(4).survey())
    assert verdict.flaw(verdict.host, FABRIC) is None
    assert replace(verdict, evidence=()).flaw(verdict.host, FABRIC)
    assert replace(verdict, started=None).flaw(verdict.host, FABRIC)


TWO = {"one": "192.0.2.1", "two": "192.0.2.2"}


@pytest.fixture
def known(tmp_path):
    """Return a results folder of two hosts with H200s."""
    for name in ("one", "two"):
        write_record(tmp_path / name / "host.json", replace(HOST, host=name))
        env = read_record(RECORDINGS / "h200-x2" / "env.json", EnvRecord)
        write_record(tmp_path / name / "env.json", replace(env, host=name))
    return tmp_path


def test_the_first_host_conducts_and_knows_each_by_its_token(known):
    one, two = make_parts(known, TWO, 29400).values()
    assert (one["conducts"], two["conducts"]) == (True, False)
    assert one["address"] == two["address"] == "192.0.2.1"
    assert one["token"] != two["token"] == make_token(one["token"], "two")
    assert one["token"] != make_parts(known, TWO, 29400)["one"]["token"]
    assert len(one["gpus"]) == len(two["gpus"]) == len(HOST.gpus)
    assert one["limit_s"] < one["total_s"]


def test_a_host_without_a_gpu_has_all_measure_on_cpu(known):
    write_record(known / "two/host.json", replace(HOST, host="two", gpus=(), pci_gpus=0, pci_devices=()))
    parts = make_parts(known, TWO, 29400)
    assert [part["gpus"] for part in parts.values()] == [[], []]


def allocate(known, **asked):
    """Have ``one`` be the login host of a cluster."""
    asked = Allocation(**{"room": "slurm", "partition": "gpu", "nodes": 4, "time": "02:00:00", **asked})
    write_record(known / "one/host.json", replace(HOST, host="one", allocation=asked))


def test_the_nodes_of_an_allocation_are_measured_by_themselves(known):
    allocate(known)
    assert {*make_parts(known, {"one": "192.0.2.1"}, 29400)} == {"one"}
    (part,) = make_parts(known, TWO, 29400).values()  # two has nobody to be measured with
    assert (part["nodes"], part["hosts"], part["conducts"], part["allocation"]["nodes"]) == (4, [], True, 4)
    write_record(known / "three/host.json", replace(HOST, host="three"))
    write_record(known / "three/env.json", read_record(known / "two/env.json", EnvRecord))
    parts = make_parts(known, {**TWO, "three": "192.0.2.3"}, 29400)
    assert [part["hosts"] for part in parts.values()] == [[], ["two", "three"], ["two", "three"]]
    assert [part["address"] for part in parts.values()][1:] == ["192.0.2.2"] * 2
    allocate(known, nodes=1)
    assert make_parts(known, {"one": "192.0.2.1"}, 29400) == {}


def test_a_survey_ends_within_its_allocation_which_has_to_be_long_enough(known):
    allocate(known, time="00:10:00")
    assert make_parts(known, {"one": "192.0.2.1"}, 29400)["one"]["total_s"] == 360
    allocate(known, time="00:05:00")
    with pytest.raises(Complaint, match="rekindle_slurm of one asks for 00:05:00, and a measurement"):
        make_parts(known, {"one": "192.0.2.1"}, 29400)


def test_nodes_are_one_row_of_their_login_host_and_a_matrix_of_their_own(tmp_path, network):
    four = network(4)
    four.set_rate("h1", "h3", 1.0)
    record = replace(four.survey(), started=NOW, host="login")
    (verdict,) = judge_hosts(record)
    assert (verdict.host, verdict.verdict, verdict.action) == ("login", "FAIL", "RETEST")
    assert verdict.cause.startswith("The link between h1 and h3 has 1 GB/s")
    (good,) = judge_hosts(replace(network(4).survey(), host="login"))
    assert (good.verdict, good.flaw("login", FABRIC)) == ("PASS", None)
    fill(tmp_path, "login", began={"login": NOW})
    add_host(tmp_path, "login", plan=replace(PLAN, jobs=()), verdict=None)
    write_record(tmp_path / "login" / folders.FABRIC_RECORD, record)
    write_record(tmp_path / "login" / FABRIC / folders.VERDICT, verdict)
    write_reports(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "Bandwidth node × node of login, all-reduce of 16 MiB" in page
    assert 'href="h1/report.html"' not in page


def test_a_host_without_torch_is_refused(known):
    env = read_record(known / "two/env.json", EnvRecord)
    without = [each for each in env.environments if each.framework == "driver"]
    write_record(known / "two/env.json", replace(env, environments=tuple(without)))
    with pytest.raises(Complaint, match="two has no environment with torch"):
        make_parts(known, TWO, 29400)


def test_nccl_says_why_it_failed():
    log = (RECORDINGS / "nccl-two-hosts.rank-0.log").read_text()
    assert nccl.find_warning(log) is None
    duplicate = "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000"
    warned = f"{log}h:1:2 [0] init.cc:1140 NCCL WARN {duplicate}\nh:1:2 [0] init.cc:9 NCCL WARN later\n"
    assert nccl.find_warning(warned) == duplicate


def test_nccl_reports_the_transport_and_the_card():
    log = (RECORDINGS / "nccl-two-hosts.rank-0.log").read_text()
    assert set(nccl.find_transports(log, lambda one, other: one != other)) == {("TCP", "eth0")}
    assert not list(nccl.find_transports(log, lambda one, other: False))
    roce = "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]\n"
    for device, found in (
        ("IB/0/GDRDMA", ("RoCE with GPUDirect RDMA", "mlx5_0")),
        ("IB/1", ("InfiniBand without GPUDirect RDMA", "mlx5_1")),
    ):
        line = f"{roce}Channel 00/0 : 0[0] -> 1[1] [send] via NET/{device}\n"
        assert set(nccl.find_transports(line, lambda one, other: True)) == {found}
