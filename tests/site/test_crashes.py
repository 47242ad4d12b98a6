"""Trainers that crash, in the real environment: never PASS, the right cause, and soon."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from rekindle.payload import build_payload
from rekindle.records import EnvRecord, RunSpec, VerdictRecord, read

JOBS = Path(__file__).parents[2] / "flare_jobs"
NVFLARE_SILENCE_S = 300


def _run(site, tmp_path, old, new):
    """Run pt_ddp as site.yml did, with ``old`` in its client.py replaced by ``new``."""
    jobs = shutil.copytree(JOBS, tmp_path / "jobs")
    client = jobs / "pt_ddp" / "client.py"
    assert old in client.read_text()
    client.write_text(client.read_text().replace(old, new, 1))
    spec = read(site.results / "local" / "pt_ddp" / "spec.json", RunSpec)
    env = read(site.results / "local" / "env.json", EnvRecord)
    driver = next(one.python for one in env.environments if one.framework == "driver")
    run = tmp_path / "run"
    subprocess.run(
        [driver, "-m", "rekindle.driver", "start", str(run)],
        input=msgspec.json.encode(spec),
        env={**os.environ, "PYTHONPATH": str(build_payload(jobs, tmp_path / "payload"))},
        check=True,
        timeout=60,
    )
    end = time.monotonic() + NVFLARE_SILENCE_S
    while not (run / "verdict.json").exists():
        assert time.monotonic() < end, "no verdict before NVFlare itself would have given up"
        time.sleep(0.5)
    return read(run / "verdict.json", VerdictRecord)


CRASHES = {
    "before flare.init": (
        '    backend = "nccl"',
        '    raise FileNotFoundError("no data here")\n    backend = "nccl"',
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
