"""Releases of NVFlare: real runs pass, and a run is held to the words of its own release."""

import json
import shutil

import pytest

from rekindle.flare.wording import wording
from rekindle.judge import judge

OLD, NEW = wording("2.7.3"), wording("2.9.0")


@pytest.mark.parametrize(
    ("release", "words"),
    [("2.7.3", OLD), ("2.8.3", OLD), ("2.9.0", NEW), ("2.10.1", NEW), ("3.0", NEW), ("", OLD), ("2.²", OLD)],
)
def test_a_release_has_the_words_of_its_range(release, words):
    assert wording(release) is words


@pytest.mark.parametrize(
    ("release", "said", "verdict"),
    [
        ("2.8.3", "2.8.3", "PASS"),
        ("2.9.0", "2.9.0", "PASS"),
        ("2.8.3", "2.9.0", "UNPROVEN"),
        ("2.9.0", "2.7.3", "UNPROVEN"),
    ],
)
def test_a_real_run_is_held_to_the_words_of_its_release(recordings, tmp_path, release, said, verdict):
    run = shutil.copytree(recordings / "releases" / f"pt_ddp-{release}", tmp_path / "run")
    spec = json.loads((run / "spec.json").read_text())
    (run / "spec.json").write_text(json.dumps({**spec, "versions": {**spec["versions"], "nvflare": said}}))
    assert judge(run).verdict == verdict


@pytest.mark.parametrize("release", ["2.8.3", "2.9.0"])
def test_what_a_trainer_prints_is_heard_in_each_release(recordings, tmp_path, release):
    run = shutil.copytree(recordings / "releases" / f"pt_ddp-{release}", tmp_path / "run")
    log = run / "job/workspace/pt_ddp/site-1/log.txt"
    words, lines = wording(release), log.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if words.task[2] in line)
    lines.insert(at, f"{lines[at][:23]} - {words.trainers} - INFO - ValueError: shapes differ")
    log.write_text("\n".join(lines) + "\n")
    verdict = judge(run)
    assert verdict.verdict != "PASS"
    assert "ValueError: shapes differ" in str(verdict.cause)
