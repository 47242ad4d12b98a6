# SPDX-License-Identifier: Apache-2.0
"""acceptance.json, as the controller makes it of a run that measured a host."""

import shutil
from pathlib import Path

from rekindle.records.layout import acceptance_in, spec_in
from rekindle.results.collection import _keep_measured

RUN = Path(__file__).parents[2] / "recordings/acceptance/h200-x2-cotenant"


def test_it_has_the_action_that_its_findings_ask_for(tmp_path):
    run = shutil.copytree(RUN, tmp_path / "acceptance")
    _keep_measured(run, spec_in(run))
    assert acceptance_in(tmp_path).action == "RETEST"
