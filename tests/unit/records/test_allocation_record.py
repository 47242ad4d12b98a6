# SPDX-License-Identifier: Apache-2.0
"""How long an allocation is."""

import pytest

from rekindle.records import Allocation, RecordError, convert_builtins


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:00:30", 30), ("02:00:00", 7200), ("1-02:30:00", 95_400), ("99:00:01", 356_401)],
)
def test_a_time_is_so_many_seconds(text, seconds):
    assert convert_builtins({"room": "slurm", "partition": "gpu", "time": text}, Allocation).time_s == seconds


@pytest.mark.parametrize("text", ["10", "10:00", "1:60:00", "-02:00:00", "02:00:00\n", "UNLIMITED"])
def test_what_is_no_such_time_is_refused(text):
    with pytest.raises(RecordError):
        convert_builtins({"room": "slurm", "partition": "gpu", "time": text}, Allocation)
