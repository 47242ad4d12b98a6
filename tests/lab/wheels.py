# SPDX-License-Identifier: Apache-2.0
"""The wheels that a lab's hosts are built from, as `rekindle bundle` collects them for their own plans."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rekindle.capsule.wheelhouse import bundle_wheels
from rekindle.records.complaint import BundleError

from . import LabError
from .labs import WHEELHOUSE, Lab
from .machine import alone

_REPOSITORY = Path(__file__).parents[2]


def fill_wheelhouse(lab: Lab, *more: str) -> None:
    """Fill WHEELHOUSE with what the lab's hosts need; what is there is not fetched again.

    Args:
        lab: whose hosts run.
        more: further words for ansible-playbook.

    Raises:
        LabError: the hosts cannot be planned, or a wheel cannot be fetched.
    """
    with tempfile.TemporaryDirectory() as results:
        for stage in ("preflight", "plan"):
            done = subprocess.run(
                [
                    *(Path(sys.executable).with_name("ansible-playbook"), f"playbooks/{stage}.yml"),
                    *("-i", str(lab.inventory), "-e", f"rekindle_results={results}", *more),
                ],
                cwd=_REPOSITORY,
                env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise LabError(f"{done.stdout}\nThe {stage} stage failed. Fix: mend what it says above.")
        try:
            with alone("wheelhouse"):
                bundle_wheels(sorted(Path(results).glob("*/plan.json")), WHEELHOUSE)
        except BundleError as error:
            raise LabError(str(error)) from None
