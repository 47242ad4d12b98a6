# SPDX-License-Identifier: Apache-2.0
"""``rekindle upgrade``, really: Lightning with NVFlare 2.7.3 and with 2.9.0 on this machine."""

import json
import os
import sys
from pathlib import Path

import pytest
from runners.commands import capture_command
from runners.plays import HANGS_S, SMALLEST, checkout

from rekindle.records import EnvRecord, VerdictRecord, read_record
from rekindle.solver.catalogue import load_rules

RELEASE = list(load_rules().nvflare.releases)[-1]
COMMAND = [sys.executable, "-P", "-c", "import sys; from rekindle import cli; sys.exit(cli.main())"]


@pytest.fixture(scope="module")
def upgraded(local, tmp_path_factory):
    """Return what ``rekindle upgrade`` answers."""
    folder = tmp_path_factory.mktemp("upgrade")
    repository = checkout(tmp_path_factory.mktemp("checkout"), lightning_ddp=SMALLEST)
    inventory = folder / "hosts.yml"
    inventory.write_text(local.read_text() + "      rekindle_jobs: [lightning_ddp]\n")
    done = capture_command(
        [*COMMAND, "upgrade", RELEASE, "-i", str(inventory), "--json"],
        cwd=folder,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "PYTHONPATH": f"{repository}/src"},
        timeout=HANGS_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_same_job_passes_on_both_releases(upgraded):
    assert (upgraded["state"], upgraded["before"], upgraded["after"]) == ("ok", "2.7.3", RELEASE)
    (job,) = upgraded["jobs"]
    assert [job[name] for name in ("host", "job", "before", "after", "cause")] == [
        *("local", "lightning_ddp", "PASS", "PASS", None)
    ]
    figures = {figure["name"]: figure for figure in job["figures"]}
    # Rounds have a speed where they took ten seconds or more, as they do on a busy machine.
    assert figures.keys() - {"samples/s"} == {"duration", "NVFlare's memory", "rounds", "final accuracy"}
    assert all(figure[when] > 0 for figure in figures.values() for when in ("before", "after"))


def test_each_run_is_of_its_release_in_its_own_folder(upgraded):
    for release, results in zip(("2.7.3", RELEASE), map(Path, upgraded["results"]), strict=True):
        assert (
            read_record(results / "local/lightning_ddp/verdict.json", VerdictRecord).versions["nvflare"]
            == release
        )
        assert (results / "report.html").is_file()
        of = {env.framework: env for env in read_record(results / "local/env.json", EnvRecord).environments}
        assert of["lightning"].packages["nvflare"] == release
