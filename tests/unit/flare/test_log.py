# SPDX-License-Identifier: Apache-2.0
"""NVFlare's logs as records."""

import re

from rekindle.flare.log import PREFIX, read_records
from rekindle.flare.workspace import ERROR_LOGS, find_workspaces


def test_every_line_of_a_recorded_log_is_in_one_record(clean_run):
    run = find_workspaces(clean_run)[0]
    for name, member in run.members.items():
        records = read_records(run, name)
        assert sum(1 + len(record.more) for record in records) == len(member.log)
        assert all(re.match(PREFIX, member.log[record.at.line - 1]) for record in records)
        assert {record.level for record in records} <= {"DEBUG", "INFO", "WARNING", "ERROR"}


def test_a_line_without_a_time_belongs_to_the_record_before_it(clean_run):
    log = clean_run / "job/workspace/pt_ddp/site-1/log_error.txt"
    log.write_text(
        "no record's\n"
        "2026-11-21 08:48:20,250 - X - ERROR - [identity=site-1, peer=server] - it failed\n"
        "Traceback\n"
        "2026-99-21 08:48:20,250 - X - ERROR - of no day\n"
    )
    (record,) = read_records(find_workspaces(clean_run)[0], "site-1", ERROR_LOGS[0])
    assert (record.logger, record.level, record.message) == ("X", "ERROR", "it failed")
    assert (record.context, record.at.line) == ("[identity=site-1, peer=server]", 2)
    assert record.more == ["Traceback", ""]
    assert record.time % 60 == 20.25


def test_who_left_no_log_has_no_records(clean_run):
    assert read_records(find_workspaces(clean_run)[0], "site-7") == []
