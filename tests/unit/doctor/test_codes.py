# SPDX-License-Identifier: Apache-2.0
"""The tables of codes: each has its source, and each row is read from a line of its origin."""

import pytest

from rekindle.doctor.subjects import Level, find_fix, find_subject, load_tables

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
    assert found.level == Level.CODE
    assert 0 <= found.start < found.end <= len(line)


def test_every_table_has_a_source_and_sentences():
    for table in load_tables():
        assert table.source
        assert all(row.meaning and row.remedy.endswith(".") for row in table.meanings.values())
        assert "" not in table.meanings


def test_a_number_that_is_no_code_means_nothing():
    assert find_subject("exit code 0, 802 images, Xid of nothing") is None
    assert find_subject("all 802 images were read") is None


END = "we can conclude that your requirements are unsatisfiable."
OF_UV = {
    f"cause: Because there is no version of six==99.0 and you require six==99.0, {END}": "an index",
    f"Because aa was not found in the package registry and you require aa, {END}": "an index",
    f"Because x was not found in the provided package locations and you require x, {END}": "an index",
    f"aa==1.0 has no wheels with a matching Python ABI tag (e.g., `cp311`), {END}": "no wheel",
    f"Because bb==1.0 has no wheels with a matching platform tag (e.g., `manylinux`), {END}": "no wheel",
    f"Because numpy==1.19.5 has no usable wheels and you require numpy==1.19.5, {END}": "no wheel",
    f"Because torch==2.13.0 depends on numpy>=2 and you require numpy==1.26.4, {END}": "do not fit",
    "Failed to download `six==1.16.0` cause: Hash mismatch for `six`": "not what was expected",
    "error sending request for url (x) cause: Connection refused (os error 111)": "connec",
    "client error (Connect) cause: dns error cause: Name or service not known": "name",
    "failed to copy file from /x to /y: No space left on device (os error 28)": "full",
}
"""What uv 0.13.8 said when each went wrong, and what that means."""


@pytest.mark.parametrize("line", OF_UV)
def test_what_uv_says_has_a_remedy_of_its_kind(line):
    found = find_subject(f"`/r/cache/bin/uv pip sync …` failed: {line}")
    assert OF_UV[line] in found.row.meaning.lower()
    assert find_fix(line) == f"{found.row.remedy[0].lower()}{found.row.remedy[1:]} Then run the play again."


def test_what_nobody_knows_has_the_fix_that_it_is_to_be_read():
    assert find_fix("toy: it is broken.") == "correct what it names, and run the play again."
