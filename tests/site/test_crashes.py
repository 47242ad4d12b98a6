"""Trainers that crash, in the real environment: never PASS, the right cause, and soon."""

import re
import shutil
from pathlib import Path

import msgspec
import pytest

from rekindle.driver.here import run_here
from rekindle.jobs import load_job

JOBS = Path(__file__).parents[2] / "flare_jobs"
NVFLARE_SILENCE_S = 300


def _run(site, tmp_path, old, new):
    """Run pt_ddp as site.yml did, with ``old`` in its client.py replaced by ``new``."""
    jobs = shutil.copytree(JOBS, tmp_path / "jobs")
    client = jobs / "pt_ddp" / "client.py"
    assert old in client.read_text()
    client.write_text(client.read_text().replace(old, new, 1))
    job = msgspec.structs.replace(load_job(jobs, "pt_ddp"), limit_s=NVFLARE_SILENCE_S)
    return run_here(job, jobs, site.results / "local", tmp_path)


CRASHES = {
    "before flare.init": (
        "    device = join(evidence)\n",
        '    device = join(evidence)\n    raise FileNotFoundError("no data here")\n',
        r"site-[12] rank [01] raised FileNotFoundError: no data here at .*client\.py:\d+\.",
    ),
    "after flare.init": (
        "        if received is not None:\n",
        '        if SITE == "site-2" and number == 1:\n'
        '            raise ValueError("shapes differ")\n'
        "        if received is not None:\n",
        r"site-2 rank [01] raised ValueError: shapes differ at .*client\.py:\d+\.",
    ),
}


@pytest.mark.parametrize("where", CRASHES)
def test_a_crash_is_no_pass_and_its_cause_is_named(site, tmp_path, where):
    old, new, cause = CRASHES[where]
    verdict = _run(site, tmp_path, old, new)
    assert verdict.verdict == "FAIL"
    assert re.fullmatch(cause, verdict.cause), verdict.cause
    assert "client.py" in verdict.remedy
    assert verdict.duration_s < NVFLARE_SILENCE_S / 3
