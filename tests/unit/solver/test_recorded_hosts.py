# SPDX-License-Identifier: Apache-2.0
"""What real GPU hosts gave: their records read, and their runs are judged here as they were there."""

import json
from pathlib import Path

import pytest

from rekindle import solver
from rekindle.judge import judge_run
from rekindle.records import HostRecord, PlanRecord, read_record
from rekindle.solver import solve_plan

REPOSITORY = Path(__file__).parents[3]
RECORDINGS = REPOSITORY / "tests" / "recordings"


@pytest.mark.parametrize("run", sorted((RECORDINGS / "runs").iterdir()), ids=lambda run: run.name)
def test_a_recorded_run_passes(run):
    assert judge_run(run).verdict == "PASS"


def test_the_h200_host_is_planned_as_it_was_there():
    folder = RECORDINGS / "h200-x2"
    host, there = read_record(folder / "host.json", HostRecord), read_record(folder / "plan.json", PlanRecord)
    given = {"jobs": there.jobs, "made": there.made}
    here = solve_plan(host, ["torch"], gpus_required=True, system_site=True, **given)
    build = here.environments[0].build
    assert build is not None
    assert (build.version, build.variant, build.cuda) == ("2.11.0", "system", "13.0")
    assert build.python == there.environments[0].build.python


def test_tensorflow_was_proven_on_both_gpus_with_nccl():
    probe = json.loads((RECORDINGS / "h200-x2" / "tensorflow-probe.json").read_text())
    catalogue = json.loads((Path(solver.__file__).parent / "catalogue/tensorflow.json").read_text())
    of_gpus = (build for build in catalogue["builds"] if build["variant"] != "cpu")
    known = next(build for build in of_gpus if build["version"] == "2.21.0")
    assert probe["cross_device_ops"] == "NcclAllReduce"
    assert len(probe["gpus"]) == probe["collective"]["ranks"] == 2
    assert probe["build"]["arch_list"] == known["arch_list"]
