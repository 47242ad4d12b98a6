# SPDX-License-Identifier: Apache-2.0
"""The board's answer: what changed, what is slower, what is not PASS since when, and GPUs that got worse."""

import re

import pytest
from msgspec.structs import replace
from samples.fleets import accepted, edited, kind, times
from samples.folders import FAIL, PASS, PLAN, add_host, fill, fill_accepted

from rekindle.report.board_page import render_board_page
from rekindle.report.digest import format_digest, summarise_digest
from rekindle.results.board import make_board_of_runs
from rekindle.results.contents import gather_results
from rekindle.results.digest import make_digest
from rekindle.results.gpu_trends import find_gpu_trends

JOBS = tuple(f"job{n}" for n in range(6))


@pytest.fixture
def board_of(tmp_path):
    """Return the board of runs, one a day, each given as verdicts by host and job."""

    def make(*runs):
        results = []
        for day, verdicts in enumerate(runs, 1):
            hosts = list(dict.fromkeys(host for host, _ in verdicts))
            folder = fill(tmp_path / f"run-{day}", *hosts, started=f"2026-11-{day:02}T02:00:00Z")
            for (host, job), verdict in verdicts.items():
                jobs = tuple(name for of, name in verdicts if of == host)
                add_host(
                    folder, host, plan=replace(PLAN, jobs=jobs), verdict=replace(verdict, job=job, host=host)
                )
            results.append(gather_results(folder))
        return make_board_of_runs(results, {}, {}, "2026-12-01T00:00:00Z", [])

    return make


def fleet(**changed):
    """Return PASS for ten hosts by six jobs, but for ``host_job``."""
    hosts = [f"gpu{n}" for n in range(10)]
    return {(host, job): changed.get(f"{host}_{job}", PASS) for host in hosts for job in JOBS}


def test_what_did_not_change_has_a_line_a_job(board_of):
    text = format_digest(board_of(fleet(), fleet()), 120, colour=False)
    assert text.startswith(
        "60 of 60 jobs on 10 hosts are PASS.\n\nChanged since the run before:\n  nothing.\n"
    )
    assert len(text.splitlines()) == 13


def test_hosts_that_fail_alike_are_one_change_and_one_cause_with_its_time(board_of):
    failed = replace(FAIL, cause="Final accuracy 0.4; at least 0.95 is required.")
    other = replace(FAIL, cause="Final accuracy 0.3; at least 0.95 is required.")
    last = fleet(gpu1_job0=failed, gpu2_job0=other, gpu3_job1=replace(failed, cause="It hangs."))
    made = board_of(fleet(gpu3_job1=replace(failed, cause="It hangs.")), last)
    found = make_digest(made)
    assert [(group.was, group.kind, group.hosts) for group in found.changed] == [
        ("PASS", "FAIL", ["gpu1", "gpu2"])
    ]
    assert [(group.hosts, group.since) for group in found.bad] == [
        (["gpu1", "gpu2"], "since 2026-11-02 02:00"),
        (["gpu3"], "since 2026-11-01 02:00"),
    ]
    text = format_digest(made, 120, colour=False)
    assert "PASS → FAIL: job0 on gpu1, gpu2: Final accuracy 0.4; at least 0.95 is required." in text
    assert "FAIL since 2026-11-01 02:00: It hangs.\n  job1 on gpu3" in text
    assert summarise_digest(make_digest(made)) == "57 of 60 jobs on 10 hosts are PASS; 3 FAIL."


def test_a_host_that_is_slower_in_all_jobs_is_one_line(board_of):
    slow = replace(PASS, duration_s=PASS.duration_s * 1.4)
    changes = {f"gpu4_{job}": slow for job in JOBS} | {"gpu5_job2": slow, "gpu6_job2": slow}
    found = make_digest(board_of(fleet(), fleet(**changes)))
    assert [(of.name, of.of_host, len(of.lines), round(of.factor, 2)) for of in found.slower] == [
        ("gpu4", True, 6, 1.4),
        ("job2", False, 2, 1.4),
    ]
    text = format_digest(board_of(fleet(), fleet(**changes)), 200, colour=False)
    assert "gpu4 is slower: 1.40 times as long in 6 jobs: job0 3 min 20 s → 4 min 41 s, job1" in text
    assert "job2 takes 1.40 times as long on gpu5 3 min 20 s → 4 min 41 s, gpu6" in text


def test_a_run_that_failed_sooner_or_later_is_not_slower(board_of):
    late = replace(FAIL, duration_s=9000.0)
    assert make_digest(board_of(fleet(), fleet(gpu4_job0=late))).slower == []
    assert make_digest(board_of(fleet(gpu4_job0=replace(FAIL, duration_s=1.0)), fleet())).slower == []


def test_nothing_is_wider_than_the_terminal_or_hostile(board_of):
    evil = replace(FAIL, cause=f"\x1b[2Ja\nb <script>x</script> {'long ' * 60}")
    made = board_of(fleet(), fleet(gpu1_job0=evil))
    for width in (60, 80, 120):
        text = format_digest(made, width, colour=False)
        assert max(map(len, text.splitlines())) <= width
        assert not re.search(r"[\x00-\x09\x0b-\x1f]", text)
    page = render_board_page(made, [], {})
    assert "<script" not in page
    assert "a\nb &lt;script&gt;x" in page
    assert "\x1b" not in page


def test_the_page_has_trends_and_leads_to_runs_beside_it(board_of):
    page = render_board_page(board_of(fleet(), fleet(gpu1_job0=FAIL), fleet()), [], {"run-3": "run-3"})
    assert page.count('class="spark"') == 12
    assert '<a class="name" href="run-3/gpu1/report.html#job0">gpu1</a>' in page
    assert 'href="run-3' not in render_board_page(board_of(fleet(gpu1_job0=FAIL)), [], {})


def test_a_gpu_that_gets_slower_from_run_to_run_is_named(tmp_path):
    runs = []
    for day in (1, 2, 3):
        record = accepted("gpu-1", kind(4), seed=0, started=f"2026-11-{day:02}T02:00:00Z")
        record = edited(record, "bf16_matmul", times(1 - 0.05 * day), 2)
        runs.append(gather_results(fill_accepted(tmp_path / str(day), record)))
    (found,) = find_gpu_trends(runs)
    assert (found.host, found.gpu, found.name, len(found.values)) == ("gpu-1", "GPU 2", "bf16_matmul", 3)
    assert found.worse == pytest.approx(1 - 0.85 / 0.925)
    assert find_gpu_trends(runs[:1]) == []
