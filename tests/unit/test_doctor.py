"""The doctor on real logs, and each catalogue entry on a line that it is for."""

import json
import shutil
from importlib.resources import files

import pytest

from rekindle.doctor import diagnose

ENTRIES = json.loads(files("rekindle.doctor").joinpath("catalogue.json").read_text())


def _run(tmp_path, log):
    shutil.copy(log, tmp_path / "job.log")
    return tmp_path


@pytest.mark.parametrize("name", ["nvflare-tf-mirrored-starved.log", "nvflare-tf-mirrored-silent-300s.log"])
def test_the_starved_trainer_is_found_behind_nvflares_own_error(tmp_path, recordings, name):
    log = recordings / name
    assert "not a valid DXO" in log.read_text()
    finding = diagnose(_run(tmp_path, log))
    assert "no memory left" in finding.cause
    assert "nvidia-smi" in finding.remedy


@pytest.mark.parametrize(
    "name", ["nvflare-tf-mirrored-pass.log", "nvflare-tf-mirrored-trainers-only-pass.log"]
)
def test_a_run_that_passed_gives_it_nothing_to_say(tmp_path, recordings, name):
    assert diagnose(_run(tmp_path, recordings / name)) is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["name"])
def test_every_entry_knows_its_excerpt_and_fills_its_sentence(tmp_path, entry):
    (tmp_path / "job.log").write_text(f"2026-11-21 INFO - before\n{entry['excerpt']}\nafter\n")
    finding = diagnose(tmp_path)
    assert finding.remedy == entry["remedy"]
    assert "{" not in finding.cause
