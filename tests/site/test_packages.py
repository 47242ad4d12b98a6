# SPDX-License-Identifier: Apache-2.0
"""A job that imports a package of no lock of ours, as site.yml runs it; its clash is refused before that."""

import shutil

from runners.plays import REPOSITORY, play

from rekindle.records import EnvRecord, VerdictRecord, read_record

DIGITS = REPOSITORY / "tests" / "honest" / "jobs" / "digits"


def _job(folder, requirements):
    shutil.copytree(DIGITS, folder)
    client = folder / "client.py"
    client.write_text(client.read_text().replace("import torch\n", "import torch\nimport torchsummary\n", 1))
    (folder / "requirements.txt").write_text(requirements)
    return f"      rekindle_jobs: [{folder}/job.yml]\n"


def test_it_passes_and_a_clash_is_refused(local, tmp_path):
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(local.read_text() + _job(tmp_path / "clash", "numpy<2\ntorchsummary\n"))
    done = play("site.yml", inventory, tmp_path / "refused")
    assert done.status != 0
    assert "clash requires numpy<2, and the lock of torch has numpy 2." in done.output
    assert not (done.results / "local" / "env.json").exists()
    inventory.write_text(local.read_text() + _job(tmp_path / "summed", "torch>=2\ntorchsummary==1.5.1\n"))
    done = play("site.yml", inventory, tmp_path / "proven")
    assert done.status == 0, done.output
    home = done.results / "local"
    (built,) = [
        one for one in read_record(home / "env.json", EnvRecord).environments if one.framework != "driver"
    ]
    assert built.packages["torchsummary"] == "1.5.1"
    verdict = read_record(home / "summed" / "verdict.json", VerdictRecord)
    assert (verdict.verdict, verdict.lock_sha256) == ("PASS", built.lock_sha256)
    assert "torchsummary==1.5.1 " in (home / "locks" / built.lock).read_text()
