# SPDX-License-Identifier: Apache-2.0
"""The figures of a host's GPUs on its own page, and a verdict's checks in their lists."""

from msgspec.structs import replace
from samples.fleets import accepted, edited, kind, times
from samples.folders import FAIL, PASS, RECORDINGS, fill_accepted

from rekindle.judge import judge_run
from rekindle.records import ClaimResult
from rekindle.report.checks import count_checks, group_checks
from rekindle.report.figures import group_points, make_figures
from rekindle.report.html import Pages
from rekindle.results.contents import gather_results


def laid_out(folder, *records):
    results = gather_results(fill_accepted(folder, *records))
    points = group_points(results.accepted[1])
    return [make_figures(record, points[record.host]) for record in records]


def test_each_gpu_has_its_figures_and_the_slow_one_is_marked(tmp_path):
    slow = edited(accepted("gpu-2", kind(4)), "bf16_matmul", times(0.9), 3)
    well, figures = laid_out(tmp_path, accepted("gpu-1", kind(4)), slow)
    assert [place for place, _ in figures.rows] == ["GPU 0", "GPU 1", "GPU 2", "GPU 3", "together"]
    column = figures.names.index(("bf16_matmul", "TFLOP/s"))
    cells = [cells[column] for _, cells in figures.rows]
    assert [cell.level == 4 for cell in cells[:4]] == [False, False, False, True]
    assert cells[4] is None
    assert "GPU 3 (GPU-gpu-2-3): bf16_matmul is 7" in cells[3].message
    assert max(cell.level for _, row in well.rows for cell in row if cell) < 4
    assert "nvlinks_up 18 lanes" in figures.same
    page = Pages(gather_results(tmp_path)).render_host(gather_results(tmp_path).hosts[1])
    assert '<td class="l4" title="GPU 3 (GPU-gpu-2-3): bf16_matmul is 7' in page


def test_claims_are_set_off_from_what_every_run_has_to_show():
    verdict = judge_run(RECORDINGS / "runs" / "pt_ddp-h100-x2")
    checks = group_checks(verdict)
    assert [of.claim for of in checks.claims][:2] == ["every_site_trained", "every_site_took_part"]
    assert "loss_falls" in {of.claim for of in checks.general}
    assert checks.bad == []
    assert sum(map(len, checks)) == len(verdict.evidence)


def test_checks_are_counted_by_state():
    unknown = ClaimResult(claim="gpus_used", state="unknown", message="It is not known.")
    none = replace(unknown, state="not applicable")
    verdict = replace(FAIL, evidence=(*FAIL.evidence, *PASS.evidence, unknown, none))
    assert count_checks(verdict) == "5 checks: 1 fail, 1 unknown, 2 hold, 1 do not apply"
    assert [of.claim for of in group_checks(verdict).bad] == ["metric_reached", "gpus_used"]
    assert count_checks(FAIL) == "1 check: 1 fail"
