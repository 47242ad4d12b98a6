# SPDX-License-Identifier: Apache-2.0
"""An exception that only hands on another process's traceback, and a message behind a cell's own prefix."""

import pytest
from samples.field_logs import root

SPAWNED = """
Traceback (most recent call last):
  File "/home/lease/run.py", line 97, in <module>
    spawn(train, nprocs=4)
torch.multiprocessing.spawn.ProcessRaisedException: {said}

-- Process 2 terminated with the following error:
Traceback (most recent call last):
  File "/home/lease/train.py", line 31, in train
    shards = count(split)
ValueError: the split 'validate' has 3 shards for 4 ranks
""".lstrip()
POOLED = '''
Traceback (most recent call last):
  File "/home/lease/run.py", line 9, in <module>
    raise RemoteTraceback
multiprocessing.pool.RemoteTraceback:
"""
Traceback (most recent call last):
  File "/home/lease/train.py", line 31, in train
    shards = count(split)
ValueError: the split 'validate' has 3 shards for 4 ranks
"""
'''.lstrip()


@pytest.mark.parametrize("log", [SPAWNED.format(said=""), POOLED])
def test_an_exception_without_words_of_its_own_is_not_the_cause_of_the_one_that_it_hands_on(log):
    finding = root(log)
    assert finding.cause.startswith("A process raised ValueError: the split 'validate' has 3 shards")


def test_one_that_has_its_own_words_is_the_first():
    assert (
        "ProcessRaisedException: it ran out of shards"
        in root(SPAWNED.format(said="it ran out of shards")).cause
    )


def test_a_cells_prefix_is_no_part_of_what_it_says():
    log = (
        "2026-03-01 16:20:31,224 - CoreCell - ERROR - "
        "[ME=site-1.9fb6d1b0-26ef-44b1-9b89-9f4f3cfc5d3e O=server] cannot decode: it has no decomposer\n"
    )
    assert root(log).cause.endswith(": cannot decode: it has no decomposer")


@pytest.mark.parametrize(
    ("before", "layer"),
    [
        ("NVRM: GPU 0000:a1:00.0: RmInitAdapter failed! (0x62:0x40:2168)\n", "host"),
        ("starts rank 7\n", "job"),
    ],
)
def test_an_ordinal_is_invalid_too_where_the_drivers_gpu_does_not_start(before, layer):
    assert root(f"{before}RuntimeError: CUDA error: invalid device ordinal\n").layer == layer


@pytest.mark.parametrize(
    "of", ["", 'Traceback (most recent call last):\n  File "/w/a.py", line 3, in __del__\n']
)
def test_what_python_ignores_as_it_removes_an_object_is_no_failure(of):
    raised = f"{of}TypeError: 'NoneType' object is not subscriptable\n"
    assert root(f"Epoch 3/3\nException ignored in: <function A.__del__ at 0x7f>\n{raised}") is None
    assert root(f"Epoch 3/3\n{raised}")
