"""What real GPU hosts gave: their records read, and their runs are judged here as they were there."""

import json
from pathlib import Path

import pytest
from write_evidence import short_form

from rekindle.judge import judge
from rekindle.judge.contract import RULES
from rekindle.records import HostRecord, PlanRecord, read
from rekindle.solver import solve

REPOSITORY = Path(__file__).parents[3]
RECORDINGS = REPOSITORY / "tests" / "recordings"


JUDGED = sorted(path.parent for path in (RECORDINGS / "runs").glob("*/verdict.json"))


@pytest.mark.parametrize("run", JUDGED, ids=lambda run: run.name)
def test_a_recorded_run_is_judged_at_home_as_it_was_on_its_host(run):
    there, here = json.loads((run / "verdict.json").read_text()), judge(run)
    assert here.verdict == there["verdict"] == "PASS"
    applied = [result for result in here.evidence if result.applies]
    assert [(result.claim, result.holds) for result in applied if result.claim not in RULES] == [
        (result["claim"], result["holds"]) for result in there["evidence"]
    ]


def test_the_h200_host_is_planned_as_it_was_there():
    folder = RECORDINGS / "h200-x2"
    host, there = read(folder / "host.json", HostRecord), read(folder / "plan.json", PlanRecord)
    here = solve(
        host,
        ["torch"],
        gpus_required=True,
        system_site=True,
        jobs=there.jobs,
        made=there.made,
        host_sha256=there.host_sha256,
    )
    build = here.environments[0].build
    assert (build.version, build.variant, build.cuda) == ("2.11.0", "system", "13.0")
    assert build.python == there.environments[0].build.python


@pytest.mark.parametrize("run", sorted((RECORDINGS / "runs").iterdir()), ids=lambda run: run.name)
def test_the_short_form_in_docs_is_what_the_files_say(run):
    assert (REPOSITORY / "docs" / "evidence" / f"{run.name}.md").read_text() == short_form(run)
