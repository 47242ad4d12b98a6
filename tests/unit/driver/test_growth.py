# SPDX-License-Identifier: Apache-2.0
"""What of the growth of a run's files is new."""

import pytest

from rekindle.driver.growth import Growth

SITE = "job/workspace/digits/site-1/log.txt"
STAMPS = [f"2026-11-27 22:24:{second:02},379" for second in range(9)]
IDS = [f"{number:08x}-2c92-4508-b2d7-18fa7627b6e1" for number in range(9)]


@pytest.fixture
def grow(tmp_path):
    """Return what adds a text to a file, and returns how much of it was new."""
    growth = Growth(tmp_path)

    def added(file, text):
        before, path = growth.count(), tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as stream:
            stream.write(text)
        return growth.count() - before

    return added


@pytest.mark.parametrize(
    "line",
    [
        "{time} - Cell - ERROR - exception sending request: ValueError: Type 'own.Thing' is not allowed.\n",
        "{time} - function - INFO - [client] download ref={id} done: elapsed=0.0{n}s size=0.0MB\n",
        "{time} - FederatedClient - INFO - pull_task completed. Task name:None Status:False\n",
        "{time} - SubprocessLauncher - INFO - the same model again, {id}\n",
    ],
)
def test_a_line_that_repeats_is_new_once(grow, line):
    lines = [line.format(time=time, id=ID, n=n) for n, (time, ID) in enumerate(zip(STAMPS, IDS, strict=True))]
    assert [grow(SITE, text) for text in lines] == [1] + [0] * 8


@pytest.mark.parametrize("file", [SITE, "job.log"])
@pytest.mark.parametrize("line", ["{time} - TaskScriptRunner - INFO - loss 0.{n}\n", "epoch {n}, loss 0.5\n"])
def test_figures_of_a_trainer_are_new(grow, file, line):
    assert [grow(file, line.format(time=STAMPS[n], n=n)) for n in range(4)] == [1] * 4


def test_a_progress_bar_is_new_before_its_line_ends(grow):
    assert [grow("job.log", f"\r{share:3} %|####") for share in range(0, 40, 10)] == [1] * 4


def test_evidence_is_always_new(grow):
    assert [grow("evidence/site-1.rank-0.jsonl", "{}\n") for _ in range(3)] == [1] * 3


def test_a_log_that_begins_anew_is_read_from_its_beginning(grow, tmp_path):
    assert grow("job.log", "one\ntwo\n") == 2
    (tmp_path / "job.log").write_text("")
    assert grow("job.log", "three\n") == 1
