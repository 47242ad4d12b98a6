# SPDX-License-Identifier: Apache-2.0
"""The page's strips: every GPU as a point."""

import re

from msgspec.structs import replace
from samples.fleets import accepted, edited, kind, times
from samples.folders import fill_accepted

from rekindle.report.reports import format_summary, write_reports
from rekindle.report.strip import BOTTOM, LEFT, RIGHT, TOP, draw_strip
from rekindle.results.acceptance import compare_accepted as judged
from rekindle.results.contents import gather_results


def results(folder, *records):
    return gather_results(fill_accepted(folder, *records))


def fleet():
    slow = edited(accepted("gpu-2", kind(4)), "bf16_matmul", times(0.9), 3)
    return accepted("gpu-1", kind(4)), slow


def test_every_gpu_is_a_point_within_the_strip(tmp_path):
    _, strips = judged([results(tmp_path, *fleet())], [])
    drawings = {strip.title: strip for strip in map(draw_strip, strips)}
    strip = drawings["bf16_matmul"]
    assert len(strip.dots) == 8
    (bad,) = [dot for dot in strip.dots if dot.bad]
    assert bad.message.startswith("gpu-2: GPU 3 (GPU-gpu-2-3): bf16_matmul is")
    dots = [dot for each in drawings.values() for dot in each.dots]
    assert all(LEFT <= dot.x <= RIGHT and TOP <= dot.y <= BOTTOM for dot in dots)
    assert strip.norm is not None
    assert min(strip.dots).bad  # the slowest is furthest left
    assert [label for _, label, _ in drawings["nvlinks_up"].marks] == ["18 lanes"]


def test_of_a_large_fleet_the_bad_ones_alone_have_a_message(tmp_path):
    slow = edited(accepted("gpu-0", kind(8)), "bf16_matmul", times(0.9), 3)
    _, strips = judged([results(tmp_path, slow, *(accepted(f"gpu-{n}", kind(8)) for n in range(1, 20)))], [])
    drawings = {strip.title: strip for strip in map(draw_strip, strips)}
    assert [dot.message[:12] for dot in drawings["bf16_matmul"].dots] == ["gpu-0: GPU 3"]
    assert 10 < drawings["bf16_matmul"].crowd.count("h0") <= 159


def test_the_page_and_the_terminal_have_it(tmp_path):
    here = results(tmp_path, *fleet())
    write_reports(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert '<h2 id="acceptance">Acceptance</h2>' in page
    assert page.count('<figure class="strip">') == page.count(' of every GPU">') > 5
    assert len(re.findall(r'<circle class="bad"', page)) == 1
    assert "The worst GPUs:\n  gpu-2: GPU 3 (GPU-gpu-2-3): bf16_matmul is" in format_summary(here, tmp_path)


def test_hosts_without_acceptance_have_no_strips(tmp_path):
    here = results(tmp_path)
    write_reports(tmp_path)
    assert "Acceptance" not in (tmp_path / "report.html").read_text()
    assert "worst" not in format_summary(here, None)


def test_hostile_names_are_data(tmp_path):
    evil = '"><script>alert(1)</script>\x1b[0m'
    record = accepted("gpu-1", kind(4, evil, topology=evil, driver=evil))
    gpus = tuple(replace(gpu, uuid=f"{evil}{gpu.index}") for gpu in record.gpus)
    measured = tuple(
        replace(it, gpu=it.gpu and evil + it.gpu[-1], peer=it.peer and evil + it.peer[-1])
        for it in record.measurements
    )
    results(tmp_path, replace(record, gpus=gpus, measurements=measured))
    write_reports(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert page.count("&lt;script&gt;alert(1)") > 8
    assert page.count("<script") == 1
    assert "\x1b" not in page
