# SPDX-License-Identifier: Apache-2.0
"""The answer on the terminal: how many are proven, each cause once, complete, deaf to what hosts say."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, LEFT, PASS, PLAN, add_host, fill, three_hosts, typed
from samples.many_hosts import many_hosts

from rekindle.records import Command, PlacedRecord, RunSpec, read_record, write_record
from rekindle.records.text import clean_text, fold_line, format_duration
from rekindle.report.answer import SMALL, format_answer, summarise_answer
from rekindle.report.html import Pages
from rekindle.report.reports import write_reports
from rekindle.report.spark import draw_spark
from rekindle.results.contents import gather_results

LONG = "The trainer of site-2 ended: NCCL error in ProcessGroupNCCL.cpp:3690, unhandled. " * 5


def text(folder, width=120, base=None):
    return format_answer(gather_results(folder), base, width, colour=False)


def test_the_answer_comes_first_then_causes_then_each_row_of_a_small_result(golden, tmp_path):
    golden(*text(three_hosts(tmp_path), 200, tmp_path).splitlines())
    assert "no hosts" in text(fill(tmp_path), 80)


def test_forty_hosts_have_each_cause_once_and_what_passed_in_a_line_a_job(golden, forty):
    lines = text(forty, base=forty).splitlines()
    golden(*(line.replace(str(forty), "RUN") for line in lines))


def test_two_hundred_hosts_fit_two_screens_and_a_page_of_half_a_megabyte(tmp_path):
    results = gather_results(many_hosts(tmp_path, 200))
    assert len(results.rows) > 1100
    lines = format_answer(results, tmp_path, 120, colour=False).splitlines()
    assert len(lines) < 80
    assert sum("LOST: " in line for line in lines) == 1
    page = Pages(results).render_all()
    assert len(page) < 500_000
    assert page.count("<section") == 7


def test_more_causes_than_fit_have_a_line_each_and_then_a_number(tmp_path):
    hosts = [f"gpu-{chr(97 + n // 10)}{chr(97 + n % 10)}" for n in range(40)]
    fill(tmp_path, *hosts)
    for host in hosts:
        cause = f"Cause {host[-2:]}{' which takes long to tell' * 12}."
        add_host(tmp_path, host, verdict=replace(FAIL, cause=cause))
    lines = text(tmp_path).splitlines()
    assert len(lines) < 100
    assert re.fullmatch(r"and \d+ more causes, which report.html has", lines[-1])
    assert all(len(line) <= 120 for line in lines)


def test_what_is_not_required_is_named_so_and_leaves_the_host_proven(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", plan=replace(PLAN, jobs=("pt_ddp", "llm_sft")))
    write_record(
        tmp_path / "gpu-1/llm_sft/verdict.json", replace(FAIL, host="gpu-1", job="llm_sft", required=False)
    )
    assert text(tmp_path).startswith("1 of 1 hosts proven.\n\nFAIL, not required: Final accuracy")


def _failed(folder, hosts, **more):
    fill(folder, *hosts, **more)
    for host in hosts:
        add_host(folder, host, plan=None, verdict=None, left=LEFT)
    return [line for line in text(folder, base=folder).splitlines() if line.startswith("  next: ")]


def test_where_no_cause_was_found_a_command_shows_all_evidence(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=FAIL)
    assert f"\n  next: rekindle judge {tmp_path}/gpu-1/pt_ddp\n" in text(tmp_path, base=tmp_path)
    assert "next:" not in text(tmp_path)


def test_else_the_command_that_was_typed_comes_next_for_the_hosts_that_failed(tmp_path):
    words = (
        "ansible-playbook",
        "site.yml",
        "-i",
        "a b",
        "-l",
        "all",
        "--limit=x",
        "-lx",
        "-e",
        "rekindle_jobs=x",
    )
    given = typed(tmp_path, "gpu-1", words=words)
    command = "ansible-playbook site.yml -i 'a b' -e rekindle_jobs=x --limit gpu-1"
    assert _failed(tmp_path, ["gpu-1"], typed=given) == [f"  next: {command} -e rekindle_results={tmp_path}"]
    given = typed(tmp_path, "gpu-1", words=(*words, "-e", "rekindle_results=r"))
    command = "ansible-playbook site.yml -i 'a b' -e rekindle_jobs=x -e rekindle_results=r --limit gpu-1"
    assert _failed(tmp_path, ["gpu-1"], typed=given) == [f"  next: {command}"]


def test_it_is_typed_where_it_was(tmp_path):
    other = {"gpu-1": Command(words=("rekindle", "site"), folder="/a b", results="results/x")}
    limit = "--limit gpu-1 -e rekindle_results=results/x"
    assert _failed(tmp_path, ["gpu-1"], typed=other) == [f"  next: cd '/a b' && rekindle site {limit}"]
    page = Pages(gather_results(tmp_path)).render_all()
    assert f"rekindle site {limit}</code>" in page
    assert "commands are for /a b<" in page


def test_nothing_comes_next_where_it_is_unknown_or_no_help(tmp_path):
    assert _failed(tmp_path, ["gpu-1"], typed={}) == []
    lost = "GPU 0 is lost: GPU has fallen off the bus. Fix: ask for another host."
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", plan=None, verdict=None, left=lost)
    assert "next:" not in text(tmp_path, base=tmp_path)
    assert "Next:" not in Pages(gather_results(tmp_path)).render_all()


def test_many_hosts_are_limited_by_a_file_of_their_cause(tmp_path):
    many = [f"gpu-{n}" for n in range(1, 3 * SMALL)]
    fill(tmp_path, *many)
    lefts = ("The disk is full.", "The lease ended.", "No route there.")
    for number, host in enumerate(many):
        add_host(tmp_path, host, plan=None, verdict=None, left=f"{lefts[number % 3]} Fix: mend it.")
    write_reports(tmp_path)
    lines = [line for line in text(tmp_path, base=tmp_path).splitlines() if "next: " in line]
    found = [re.search(r"--limit @(\S+)", line)[1] for line in lines]
    assert len(set(found)) == 3
    assert sorted(host for file in found for host in Path(file).read_text().split()) == sorted(many)
    for host in many:
        (tmp_path / host / "outcome.json").unlink()
        add_host(tmp_path, host)
    write_reports(tmp_path)
    assert list((tmp_path / "hosts").iterdir()) == []


def test_one_command_is_shown_once(tmp_path):
    """A federation goes on with all of its hosts, whatever each lacks; two jobs of a host are one run."""
    asked, words = (
        dict.fromkeys(("a", "b"), "federate"),
        ("rekindle", "federate", "-i", "x", "--limit", "a,b"),
    )
    fill(tmp_path, "a", "b", asked=asked, typed=typed(tmp_path, "a", "b", words=words))
    add_host(tmp_path, "a", plan=None, verdict=None, left="One. Fix: mend it.")
    add_host(tmp_path, "b", plan=None, verdict=None, left="Two. Fix: mend it.")
    (line,) = [line for line in text(tmp_path, base=tmp_path).splitlines() if "next: " in line]
    assert line == f"  next: rekindle federate -i x --limit a,b -e rekindle_results={tmp_path}"


def test_kept_runs_have_their_times(tmp_path, recordings):
    hosts = [f"gpu-{n}" for n in range(SMALL + 1)]
    began = "2026-11-21T09:40:00Z"
    fill(tmp_path, *hosts, began=dict.fromkeys(hosts, began))
    spec = read_record(next(recordings.glob("runs/*/spec.json")), RunSpec)
    for number, host in enumerate(hosts):
        add_host(tmp_path, host)
        kept = None if number > 2 else f"2026-11-21T09:1{number}:00Z"
        placed = PlacedRecord(run="/r", payload="/p", spec=spec, at=began, kept=kept)
        write_record(tmp_path / host / "pt_ddp.placed.json", placed)
    (line,) = [line for line in text(tmp_path, 200).splitlines() if "kept" in line]
    assert re.search(r"PASS +13 .* 3 kept, of \d\d:10 to \d\d:12; -e rerun=true runs them again", line)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_nothing_is_lost_at_any_width(tmp_path, width):
    host = "lease-host-with-a-long-name-07.cluster.example.org"
    verdict = replace(FAIL, job="tensorflow_mirrored", verdict="UNSUPPORTED", cause=LONG)
    plan = replace(PLAN, jobs=("tensorflow_mirrored",))
    add_host(fill(tmp_path, host), host, plan=plan, verdict=verdict)
    shown = text(tmp_path, width)
    assert all(len(line) <= width for line in shown.splitlines())
    for part in (LONG, "Train longer.", f"tensorflow_mirrored on {host}"):
        assert "".join(part.split()) in "".join(shown.split())
    if width >= 80:
        assert re.search("above .*3 min 20 s +4 × ", shown)


def test_colour_only_where_asked(tmp_path):
    results = gather_results(three_hosts(tmp_path))
    assert "\x1b" not in format_answer(results, None, 120, colour=False)
    coloured = format_answer(results, None, 120, colour=True)
    assert coloured.count("\x1b[32mPASS") == 1
    assert coloured.count("\x1b[31mFAIL") == 2


def test_control_characters_and_markup_have_no_effect(tmp_path):
    cause = "a\x1b[2J\x1b]0;title\x07b\rc\x00\u202ed [bold red]e[/] :smile: [link=file:///x]f[/link]\nPASS"
    device = replace(PASS.devices[0], name="\x1b[31mNVIDIA\n[blink]")
    fill(tmp_path, "h\x1b[31m\x07")
    verdict = replace(FAIL, cause=cause, devices=(device,))
    add_host(tmp_path, "h\x1b[31m\x07", verdict=verdict)
    shown = text(tmp_path, 200, tmp_path)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert "ab cd [bold red]e[/] :smile: [link=file:///x]f[/link] PASS" in shown
    assert "1 × NVIDIA [blink]" in shown
    assert len(shown.splitlines()) == 10


def test_federated_jobs_are_counted_apart(tmp_path):
    fill(tmp_path, "gpu-1", "federations")
    add_host(tmp_path, "gpu-1")
    add_host(tmp_path, "federations", host=None, plan=None, verdict=FAIL)
    assert (
        summarise_answer(gather_results(tmp_path))
        == "1 of 1 hosts proven. 0 of 1 jobs of the federation proven; 1 FAIL."
    )


def test_clean_removes_whole_sequences():
    assert (
        clean_text("\x1b[31mred\x1b[0m \x9b1mbold \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\")
        == "red bold link"
    )
    assert clean_text("tab\tand\nline stay") == "tab\tand\nline stay"
    assert fold_line(" a\r\n b\t c\x00 ") == "a b c"


def test_durations_are_for_people():
    shown = [format_duration(seconds) for seconds in (None, 0.4, 59.6, 200.4, 3725)]
    assert shown == ["–", "0 s", "1 min 0 s", "3 min 20 s", "1 h 2 min"]


def test_a_run_shows_its_loss_and_on_how_many_checks_it_rests(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    assert re.search(r"PASS +█▃▁ loss 1\.05 → 0\.383, 2 checks", text(tmp_path, width=120))
    measured = replace(PASS, rounds=PASS.rounds[:1])
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=measured)
    assert re.search(r"PASS +2 checks", text(tmp_path, width=120))


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("accuracy", "val_loss"), r"█▁ val_loss 2 → 1, "),
        (("f1", "accuracy"), r"█▁ f1 2 → 1, "),
        (("kl_loss", "perplexity"), ""),
    ],
)
def test_a_run_whose_ranks_record_no_loss_shows_what_sites_report(tmp_path, names, shown):
    sites = [(number, site) for number in (0, 1) for site in ("site-1", "site-2")]
    rounds = tuple(
        replace(
            PASS.rounds[0], round=number, site=site, loss=None, metrics=dict.fromkeys(names, 2.0 - number)
        )
        for number, site in sites
    )
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=replace(PASS, rounds=rounds))
    assert re.search(rf"PASS +{shown}2 checks", text(tmp_path, width=120))


def test_a_series_is_as_long_as_a_word_whatever_its_values():
    assert draw_spark([1.0]) == draw_spark([]) == ""
    assert draw_spark([3, 2, 1]) == "█▅▁"
    assert draw_spark([2, 2]) == "▅▅"
    assert len(draw_spark(range(1000))) == 12
    assert draw_spark([*range(999), 1e9])[-1] == "█"
