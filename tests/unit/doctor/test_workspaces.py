# SPDX-License-Identifier: Apache-2.0
"""Workspaces of NVFlare's: judge and diagnose name one cause, none is silent, and no echo comes first.

Those of ``workspaces/`` are jobs of many habits, run in NVFlare 2.8.0's simulator, with their logs cut.
The first line has the words and the layers that are right, also of the judge's own sentence.
"""

import re
from pathlib import Path

import pytest
from one_cause import agree

from rekindle.judge import judge_run

HERE = Path(__file__).parent / "workspaces"
RECORDINGS = Path(__file__).parents[2] / "recordings"
FOREIGN = sorted(path.parent for path in (RECORDINGS / "foreign").glob("*/*/server"))


def _workspace(folder, name):
    label, *files = re.split(r"^=== (\S+)\n", (HERE / f"{name}.txt").read_text(), flags=re.MULTILINE)
    for file, content in zip(files[::2], files[1::2], strict=True):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content)
    return label.strip()


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*.txt")))
def test_a_workspace_has_the_cause_that_its_label_has(tmp_path, name):
    label = _workspace(tmp_path / name, name)
    found = agree(tmp_path / name)
    if label == "healthy":
        assert found.findings == ()
        assert not found.timeline or found.went_on
        return
    words, layers = label.split("; ")
    first = found.findings[0]
    assert any(word in first.cause for word in words.split("|"))
    assert first.layer in layers.split()


def test_a_workspace_inside_the_folder_that_is_given_has_the_same_cause(tmp_path):
    _workspace(tmp_path / "argparse/job", "argparse")
    found = agree(tmp_path / "argparse")
    assert found.cause.cause.startswith("The command is called wrongly")
    assert (tmp_path / "argparse" / found.cause.file).is_file()
    shown = [one.file for one in judge_run(tmp_path / "argparse").evidence if one.file]
    assert shown
    assert all((tmp_path / "argparse" / file).is_file() for file in shown)


@pytest.mark.parametrize("run", FOREIGN, ids=lambda run: run.parent.name)
def test_a_recorded_workspace_has_one_cause(run):
    agree(run)
