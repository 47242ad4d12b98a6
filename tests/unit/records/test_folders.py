# SPDX-License-Identifier: Apache-2.0
"""Readers of the records in a run's folder, and the names that they go by."""

import re
from pathlib import Path

import pytest

from rekindle.host import folders as names
from rekindle.judge import judge_run
from rekindle.records import Clock, Ladder, LeftBehind, Progress, RecordError, layout, write_record

RECORDS = {
    names.SPEC: layout.spec_in,
    names.PROGRESS: layout.progress_in,
    names.ENDED: layout.ended_in,
    names.VERDICT: layout.verdict_in,
    names.LADDER_RECORD: layout.ladder_in,
    names.LEFT: layout.left_in,
    names.CLOCK: layout.clock_in,
}


@pytest.mark.parametrize("name", RECORDS)
def test_each_record_is_read_by_its_type_or_refused_by_its_name(clean_run, name):
    more = {
        names.PROGRESS: Progress(state="ended", message="ended", elapsed_s=1),
        names.LADDER_RECORD: Ladder(rungs=()),
        names.LEFT: LeftBehind(files={}),
        names.VERDICT: judge_run(clean_run),
        names.CLOCK: Clock(offset_s=0.1, error_s=0.2, asked="2026-11-25T22:28:00Z"),
    }
    if name in more:
        write_record(clean_run / name, more[name])
    assert RECORDS[name](clean_run).schema.startswith(f"rekindle/{Path(name).stem}/")
    (clean_run / name).unlink()
    with pytest.raises(RecordError, match=re.escape(f"{clean_run / name} does not exist. Fix: ")):
        RECORDS[name](clean_run)


def test_the_places_on_a_host_follow_from_its_root():
    root = Path("/home/lease/rekindle")
    assert names.find_root(root / names.RUNS / "pt_ddp-0123456789ab") == root
    assert names.locate_environment(root, "torch", "0123456789abcdef") == root / "envs/torch-0123456789ab"
    assert names.locate_wheels(root, "0123456789abcdef") == root / "cache/wheelhouse/0123456789ab"
