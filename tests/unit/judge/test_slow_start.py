# SPDX-License-Identifier: Apache-2.0
"""A job.py that prepares its data for long before it starts NVFlare."""

import pytest
from samples.edits import edit, lines_in, put_lines

from rekindle.judge import judge_run


@pytest.mark.parametrize("minutes", [9, 21, 90])
def test_logs_that_begin_long_after_the_run_are_in_their_zone(example, minutes):
    hour, minute = divmod(14 * 60 + 58 - minutes, 60)
    edit(example / "ended.json", "T14:58:16Z", f"T{hour}:{minute:02d}:16Z")
    edit(example / "ended.json", "34.52", str(34.52 + 60 * minutes))
    samples = lines_in(example / "samples.jsonl")
    began = samples[0]["time"]
    earlier = [{**samples[0], "time": began - back} for back in range(60 * minutes, 0, -20)]
    put_lines(example / "samples.jsonl", earlier + samples)
    assert (judge_run(example).verdict, judge_run(example).cause) == ("PASS", None)
