"""Each claim reads the parts of a run that it says, and no other."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from rekindle.flare.workspace import Workspace, locate
from rekindle.judge import claims
from rekindle.judge.claims import NEEDS, check
from rekindle.judge.run import Run
from rekindle.records import Claim, Site
from rekindle.records.events import SampleEvent

RECORDINGS = Path(__file__).parents[2] / "recordings"
RUNS = [path for kind in ("runs", "examples", "acceptance") for path in sorted((RECORDINGS / kind).iterdir())]

FOREIGN = RECORDINGS / "foreign"
OF_EXAMPLES = {
    "every_site_took_part": "simulator",
    "rounds_completed": "simulator",
    "global_model_saved": "simulator",
    "cross_validation_complete": "cross-val",
    "statistics_complete": "hello-tabular-stats",
    "survival_curves_fall": "kaplan-meier",
    "flower_results_received": "flower",
    "tracked": "mlflow-at-sites",
}
"""Claims that jobs of NVFlare's own make, and a workspace of which each holds."""


def _without(run, part):
    """Return the run without one part; a spec becomes that of another job."""
    spec, ended, lines, workspace = run.spec, run.ended, run.lines, run.workspace
    if part == "spec":
        spec = _another(spec)
    elif part == "end":
        ended = None
    elif part == "workspace":
        workspace = Workspace(run.folder, {})
    else:
        lines = [line for line in lines if isinstance(line.event, SampleEvent) is not (part == "samples")]
    return Run(run.folder, spec, ended, lines, workspace)


def _another(spec):
    job = replace(spec.job, rounds=99, arguments={}, proof=spec.job.proof[:0])
    return replace(spec, job=job, sites=(Site(name="elsewhere", ranks=9, gpus=("GPU-x",) * 9),))


def _asked():
    """Yield each claim once, with a recorded run whose job makes it and that passed."""
    runs = [Run.open(path) for path in RUNS if (path / "spec.json").exists()]
    for name in NEEDS:
        found = [(run, claim) for run in runs for claim in run.spec.job.proof if claim.claim == name]
        if name in OF_EXAMPLES:
            spec, workspace = runs[0].spec, locate(FOREIGN / OF_EXAMPLES[name])
            claim = Claim(claim=name, options={"tracker": "mlflow"})
            found = [(Run(workspace.folder, spec, None, [], workspace), claim)]
        yield next((run, claim) for run, claim in found if (told := check(run, claim)) and told.holds)


ASKED = list(_asked())


@pytest.mark.parametrize(("run", "claim"), ASKED, ids=[claim.claim for _, claim in ASKED])
def test_a_claim_needs_what_it_says(run, claim):
    whole = check(run, claim)
    for part in ("spec", "workspace", "evidence", "samples", "end"):
        assert (check(_without(run, part), claim) != whole) is (part in NEEDS[claim.claim]), part


def test_every_claim_says_so():
    assert claims.NEEDS.keys() == claims.VALIDATORS.keys()
