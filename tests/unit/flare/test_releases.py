# SPDX-License-Identifier: Apache-2.0
"""Releases of NVFlare: real runs pass, and what their trainers print is read."""

import shutil

import pytest

from rekindle.flare.log import TRAINERS
from rekindle.judge import judge_run


@pytest.mark.parametrize(("release", "logger"), [("2.8.3", TRAINERS[0]), ("2.9.0", TRAINERS[1])])
def test_what_a_trainer_prints_is_read_in_each_release(recordings, tmp_path, release, logger):
    run = shutil.copytree(recordings / "releases" / f"pt_ddp-{release}", tmp_path / "run")
    assert judge_run(run).verdict == "PASS"
    log = run / "job/workspace/pt_ddp/site-1/log.txt"
    lines = log.read_text().splitlines()
    at = max(number for number, line in enumerate(lines) if logger in line)  # after the last result
    lines.insert(at, f"{lines[at][:23]} - {logger} - INFO - ValueError: shapes differ")
    log.write_text("\n".join(lines) + "\n")
    verdict = judge_run(run)
    assert verdict.verdict != "PASS"
    assert "ValueError: shapes differ" in str(verdict.cause)
