"""The terminal table: complete at every width, and deaf to what hosts put in it."""

import re

import msgspec
import pytest
from report_folders import FAIL, PASS, PLAN, add_host, fill, three_hosts

from rekindle.records.text import clean, duration, one_line
from rekindle.report.table import table
from rekindle.results.gather import gather

LONG = "The trainer of site-2 ended: NCCL error in ProcessGroupNCCL.cpp:3690, unhandled. " * 5


def test_it_shows_host_job_verdict_cause_duration_and_gpus(tmp_path):
    lines = table(gather(three_hosts(tmp_path)), 200, colour=False).splitlines()
    assert lines[0].split() == ["host", "job", "verdict", "cause", "duration", "GPUs"]
    assert re.fullmatch(r"gpu-1 +pt_ddp +PASS +3 min 20 s +4 × NVIDIA H200", lines[2])
    assert re.search(r"gpu-2 +pt_ddp +FAIL +Final accuracy 0\.4", lines[3])
    assert "no hosts" in table(gather(fill(tmp_path)), 80, colour=False)
    assert re.search(r"gpu-3 +– +SKIPPED +No verdict was collected", lines[4])


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_nothing_is_lost_at_any_width(tmp_path, width):
    host = "lease-host-with-a-long-name-07.cluster.example.org"
    verdict = msgspec.structs.replace(FAIL, job="tensorflow_mirrored", verdict="UNSUPPORTED", cause=LONG)
    plan = msgspec.structs.replace(PLAN, jobs=("tensorflow_mirrored",))
    add_host(fill(tmp_path, host), host, plan=plan, verdict=verdict)
    text = table(gather(tmp_path), width, colour=False)
    head, rule, *body = text.splitlines()
    assert all(len(line) <= width for line in (head, rule, *body))
    starts = [head.index(name) for name in ("host", "job", "verdict", "cause", "duration", "GPUs")]
    columns = [
        "".join(line[at:end].strip() for line in body)
        for at, end in zip(starts, [*starts[1:], None], strict=True)
    ]
    expected = [host, "tensorflow_mirrored", "UNSUPPORTED", LONG, "3 min 20 s", "4 × NVIDIA H200"]
    assert ["".join(cell.split()) for cell in columns] == ["".join(cell.split()) for cell in expected]
    assert starts[4] - starts[3] >= 16


def test_colour_only_where_asked(tmp_path):
    results = gather(three_hosts(tmp_path))
    assert "\x1b" not in table(results, 120, colour=False)
    assert "\x1b[32mPASS" in table(results, 120, colour=True)
    assert "\x1b[31mFAIL" in table(results, 120, colour=True)


def test_control_characters_and_markup_have_no_effect(tmp_path):
    cause = "a\x1b[2J\x1b]0;title\x07b\rc\x00\u202ed [bold red]e[/] :smile: [link=file:///x]f[/link]\nPASS"
    device = msgspec.structs.replace(PASS.devices[0], name="\x1b[31mNVIDIA\n[blink]")
    fill(tmp_path, "h\x1b[31m\x07")
    verdict = msgspec.structs.replace(FAIL, cause=cause, devices=(device,))
    add_host(tmp_path, "h\x1b[31m\x07", verdict=verdict)
    text = table(gather(tmp_path), 200, colour=False)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "ab cd [bold red]e[/] :smile: [link=file:///x]f[/link] PASS" in text
    assert "1 × NVIDIA [blink]" in text
    assert len(text.splitlines()) == 3


def test_clean_removes_whole_sequences():
    assert clean("\x1b[31mred\x1b[0m \x9b1mbold \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\") == "red bold link"
    assert clean("tab\tand\nline stay") == "tab\tand\nline stay"
    assert one_line(" a\r\n b\t c\x00 ") == "a b c"


def test_durations_are_for_people():
    shown = [duration(seconds) for seconds in (None, 0.4, 59.6, 200.4, 3725)]
    assert shown == ["–", "0 s", "1 min 0 s", "3 min 20 s", "1 h 2 min"]
