"""A job.py that prepares its data for long before it starts NVFlare."""

import shutil

import pytest
from recorded_edits import edit, lines_in, put_lines

from rekindle.judge import judge


@pytest.mark.parametrize("minutes", [9, 21, 90])
def test_logs_that_begin_long_after_the_run_are_in_their_zone(recordings, tmp_path, minutes):
    run = shutil.copytree(recordings / "examples" / "hello-numpy", tmp_path / "run")
    hour, minute = divmod(14 * 60 + 58 - minutes, 60)
    edit(run / "ended.json", "T14:58:16Z", f"T{hour}:{minute:02d}:16Z")
    edit(run / "ended.json", "34.52", str(34.52 + 60 * minutes))
    samples = lines_in(run / "samples.jsonl")
    began = samples[0]["time"]
    earlier = [{**samples[0], "time": began - back} for back in range(60 * minutes, 0, -20)]
    put_lines(run / "samples.jsonl", earlier + samples)
    assert (judge(run).verdict, judge(run).cause) == ("PASS", None)
