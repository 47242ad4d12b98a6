# SPDX-License-Identifier: Apache-2.0
"""What programs can print, from their own tables of errors, has the layer and the remedy that it needs.

Each line of ``producers.txt`` was labelled before the doctor read it: layers; words of the remedy; the line.
"""

from pathlib import Path

import pytest
from samples.field_logs import root

from rekindle.doctor.excerpts import MATTERS
from rekindle.doctor.subjects import find_subject

LINES = [
    line.split("; ", 2)
    for line in Path(__file__).with_name("producers.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def _helps(layers, words, line):
    finding = root(f"{line}\n")
    return (
        finding is not None
        and finding.layer in layers.split()
        and any(word.strip().lower() in finding.remedy.lower() for word in words.split("|"))
    )


def test_what_producers_print_has_its_layer_and_remedy():
    assert len(LINES) > 500
    wrong = [line for layers, words, line in LINES if not _helps(layers, words, line)]
    assert len(wrong) <= 5, wrong


def test_large_logs_are_searched_for_what_producers_print():
    assert [line for _, _, line in LINES if not MATTERS.search(line.lower())] == []


@pytest.mark.parametrize(
    "line",
    [
        "gpu-site.service: Main process exited, code=exited, status=0/SUCCESS",
        "JobState=PENDING Reason=Priority",
        "JobState=PENDING Reason=Dependency",
        "CUDA error: none, 2 GPUs are free",
        "systemd[1]: nvidia.service: Result 'success'.",
    ],
)
def test_what_only_looks_like_a_code_is_no_failure(line):
    assert root(f"{line}\n") is None


def test_the_type_of_an_exception_says_less_than_its_words():
    assert "weights_only" in find_subject("UnpicklingError: Weights only load failed.").row.remedy
    assert "cut short" in find_subject("UnpicklingError: pickle data was it?").row.remedy
    assert find_subject("OSError: curl: (6) it says: no such device").row.layer == "network"
