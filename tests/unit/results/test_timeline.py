# SPDX-License-Identifier: Apache-2.0
"""When what happened in a run, by what a real one left, and by what a broken or hostile one leaves."""

import itertools
import json
import shutil

import pytest
from msgspec.structs import replace
from samples.edits import replaced
from samples.folders import PLAN, RECORDINGS, add_host, fill

from rekindle.judge import judge_run
from rekindle.report.html import Pages
from rekindle.report.lanes import HEIGHT, LEFT, RIGHT, draw_lanes
from rekindle.results.contents import gather_results
from rekindle.results.timeline import read_timeline

RUN = RECORDINGS / "runs" / "pt_ddp-h100-x2"
WELL = judge_run(RUN)
ILL = replace(WELL, evidence=())
GPU = "GPU-6064da05-6d44-3068-e734-909a66432dfa"


@pytest.fixture
def run(tmp_path):
    return shutil.copytree(RUN, tmp_path / "run")


def edit_samples(run, change):
    """Write the run's samples again, each as ``change`` returns it."""
    path = run / "samples.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(change(n, line)) + "\n" for n, line in enumerate(lines)))


def test_a_run_has_its_gpus_its_sites_and_its_rounds():
    found = read_timeline(RUN, WELL)
    assert found.seconds == 53.65
    assert len(found.gpus[GPU]) > 40
    assert max(of.utilisation for of in found.gpus[GPU]) > 20
    doings = [[span.doing for span in spans] for spans in found.sites.values()]
    one_round = ["trains", "sends", "waits"]
    assert doings == [[*one_round, *one_round, "trains", "sends"]] * 2
    assert [number for _, number in found.rounds] == [0, 1, 2]
    for spans in found.sites.values():
        assert all(0 <= span.since <= span.until <= found.seconds for span in spans)
        assert all(one.until <= other.since for one, other in itertools.pairwise(spans))


def test_a_job_of_others_has_what_its_server_got():
    run = RECORDINGS / "examples" / "hello-numpy"
    found = read_timeline(run, judge_run(run))
    assert [span.doing for span in found.sites["site-1"]] == ["works"] * 3  # is the last in each round
    assert [span.doing for span in found.sites["site-2"]] == ["works", "waits", "works", "waits", "works"]
    assert [number for _, number in found.rounds] == [0, 1, 2]
    assert draw_lanes(found, {}).doings == {"works", "waits"}


def test_an_xid_is_found_also_where_samples_are_left_out(run):
    def sample(number, line):
        if number == 37:
            line["gpus"][GPU]["xids"] = [79]
        return line

    edit_samples(run, sample)
    path = run / "samples.jsonl"
    path.write_text("".join(f"{line}\n" * 40 for line in path.read_text().splitlines()))
    found = read_timeline(run, ILL)
    assert {xid.number for xid in found.xids[GPU]} == {79}
    assert len(found.gpus[GPU]) < 200
    large = read_timeline(run, WELL)
    assert 60 < len(large.gpus[GPU]) <= 80
    assert max(of.used_mib for of in large.gpus[GPU]) == max(
        of.used_mib for of in read_timeline(RUN, WELL).gpus[GPU]
    )


def test_a_gpu_that_no_longer_answers_keeps_its_xids(run):
    def sample(number, line):
        if number > 30:
            del line["gpus"][GPU]
            line["unanswered"] = {GPU: [79] if number == 31 else None}
        return line

    edit_samples(run, sample)
    assert [xid.number for xid in read_timeline(run, WELL).xids[GPU]] == [79]


def test_a_suspension_is_drawn(run):
    span = '"suspensions": [{"since": 1795793960.0, "until": 1795793970.0, "host": null}]'
    replaced("ended.json", r'"suspensions": \[\]', span)(run)
    found = read_timeline(run, WELL)
    ((since, until),) = found.suspensions
    assert (since, until) == (6.0, 16.0)
    ((_, width),) = draw_lanes(found, {}).suspensions
    assert width == pytest.approx(10 / 53.65 * (RIGHT - LEFT), abs=0.1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda run: (run / "ended.json").unlink(),
        lambda run: [path.unlink() for path in (run / "samples.jsonl", *run.glob("evidence/*"))],
        lambda run: [path.write_bytes(b'{"event": "round"}\n\xff[\n') for path in run.rglob("*.jsonl")],
    ],
    ids=["no end", "no evidence", "broken lines"],
)
def test_what_is_not_there_is_not_drawn(run, damage):
    damage(run)
    assert read_timeline(run, WELL) is None


def test_a_thousand_rounds_are_a_bounded_path(run):
    path = run / "evidence" / "site-1.rank-0.jsonl"
    first = next(line for line in path.read_text().splitlines() if '"round"' in line)
    event = json.loads(first)
    rounds = [{**event, "round": n, "time": 1795793955 + n / 25, "seconds": 0.02} for n in range(1000)]
    path.write_text("".join(json.dumps(line) + "\n" for line in rounds))
    found = read_timeline(run, WELL)
    assert len(found.rounds) == 1000
    drawing = draw_lanes(found, {})
    assert max(len(bar) for lane in drawing.sites for bar in lane.bars.values()) < 8_000
    assert len(drawing.rounds) <= 60


def test_figures_out_of_any_order_stay_in_their_lane(run):
    def sample(number, line):
        line["gpus"][GPU] |= {"utilisation": 10**9 * (-1) ** number, "used_mib": -number}
        line["time"] = 10**6 if number == 5 else line["time"]
        return line

    edit_samples(run, sample)
    drawing = draw_lanes(read_timeline(run, WELL), {GPU: "GPU 0"})
    assert [lane.name for lane in drawing.gpus] == ["GPU 0", "GPU-7adef50f-fa15-"]
    lane = drawing.gpus[0]
    for point in lane.memory.split():
        x, y = map(float, point.split(","))
        assert LEFT <= x <= RIGHT
        assert lane.y <= y <= lane.y + HEIGHT


def test_names_in_evidence_are_data_on_the_page(tmp_path):
    evil = '"></svg><script>alert(1)</script>\x1b[0m'
    verdict = replace(WELL, host="gpu-1")
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", plan=replace(PLAN, jobs=(verdict.job,)), verdict=verdict)
    run = shutil.copytree(RUN, tmp_path / "gpu-1" / verdict.job, dirs_exist_ok=True)

    def sample(number, line):
        return {**line, "gpus": {evil: next(iter(line["gpus"].values()))}}

    edit_samples(run, sample)
    path = run / "evidence" / "site-1.rank-0.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**line, "site": evil}) + "\n" for line in lines))
    results = gather_results(tmp_path)
    page = Pages(results).render_host(results.hosts[0])
    assert "<script" not in page
    assert "\x1b" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 2
