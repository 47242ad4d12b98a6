# SPDX-License-Identifier: Apache-2.0
"""The tables of codes: each has its source, and each row is read from a line of its origin."""

import pytest

from rekindle.doctor.subjects import find_subject, load_tables

LINES = {
    "NVRM: Xid (PCI:0000:18:00): 137, NVLink: fatal error": "host",
    "failed (exitcode: -11) local_rank: 2 (pid: 413) of binary: python": "framework",
    "container exited with code 137": "host",
    "cudaErrorSystemNotReady: CUDA error 802: not ready": "driver",
    "terminated with: StatusCode.UNIMPLEMENTED": "environment",
    "JobState=BOOT_FAIL": "host",
    "TERM_RUNLIMIT: job killed after reaching LSF run time limit.": "job",
    "TERM_PREEMPT: job killed after preemption.": "host",
    "=>> PBS: job killed: vmem 9663676416 exceeded limit 8589934592": "job",
    "Job was held. Error from slot1@n1: Job has gone over cgroup memory limit of 4096 megabytes.": "job",
    "3600.1s: job.exception type=timeout severity=0 resource allocation expired": "job",
    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.": "job",
}


@pytest.mark.parametrize("line", LINES)
def test_a_code_is_known_in_a_line_of_its_origin(line):
    found = find_subject(line)
    assert found.row.layer == LINES[line]
    assert not found.row.words
    assert 0 <= found.start < found.end <= len(line)


def test_every_table_has_a_source_and_sentences():
    for table in load_tables():
        assert table.source
        assert all(row.meaning and row.remedy.endswith(".") for row in table.rows.values())


def test_a_number_that_is_no_code_means_nothing():
    assert find_subject("exit code 0, 802 images, Xid of nothing") is None
    assert find_subject("all 802 images were read") is None
