"""The page: one file, complete, well nested, and deaf to what hosts put in it."""

import re
from html.parser import HTMLParser

import msgspec
from report_folders import FAIL, HOST, LEFT, PASS, SHA, add_host, fill, three_hosts

from rekindle.records import Gpu, Rung
from rekindle.report.html import html, plots
from rekindle.results.gather import gather

HOSTILE = "<script>alert(1)</script>\"'`&amp;{{ 7*7 }}\x1b[31m\x00\x07\u202e"
HARMLESS = "<script>alert(1)</script>\"'`&amp;{{ 7*7 }}"


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text.partition("<style>")[0] + text.rpartition("</style>")[2])
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data

    def values(self, attribute):
        return [value for name, value in self.attributes if name == attribute]


def page(folder):
    return Page(html(gather(folder)))


def test_the_first_step_that_fails_is_named(tmp_path):
    rungs = (
        Rung(name="matrix product", holds=True, message="It is right.", seconds=1.0),
        Rung(name="collective", holds=False, message=f"NCCL error {HOSTILE}.", seconds=1.0),
        Rung(name="training alone", holds=None, message="Not tried.", seconds=0.0),
    )
    fill(tmp_path, "gpu-1")
    add_host(tmp_path, "gpu-1", verdict=msgspec.structs.replace(FAIL, rungs=rungs))
    shown = page(tmp_path)
    text = " ".join(shown.text.split())
    assert "First step that fails: collective" in text
    assert f"collective: fails. NCCL error {HARMLESS}" in text
    assert "script" not in shown.tags


SHOWN = """
not all proven|No verdict was collected.|Final accuracy 0.4, at least 0.95 asked.|Remedy: Train longer.
evidence/site-1.rank-0.jsonl:4|87 %|2048 MiB|nvflare 2.7.3, torch 2.15.0|Ubuntu 24.04.3 LTS
NVIDIA driver 580.159.04 (CUDA up to 13.0); Podman 4.3.1|driver: Driver 580.159.04 runs CUDA 13.2.
dcgmi: missing
Warning: The host's Python is old.|final accuracy 0.9667
"""


def test_it_shows_all_that_the_records_have(tmp_path):
    text = " ".join(page(three_hosts(tmp_path)).text.split())
    missing = [part for line in SHOWN.strip().splitlines() for part in line.split("|") if part not in text]
    assert missing == []
    assert SHA[:12] in text


def test_only_a_run_that_passed_is_called_proven(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    assert "Rekindle: all proven" in page(tmp_path).text
    assert "Rekindle: not all proven" in page(fill(tmp_path)).text


def test_it_is_one_file_that_needs_no_script(tmp_path):
    text = html(gather(three_hosts(tmp_path)))
    parsed = Page(text)
    assert not {"script", "link", "a", "img", "iframe", "object", "base"} & set(parsed.tags)
    assert not re.search(r"url\(|@import|https?://", text)
    assert "svg" in parsed.tags
    assert "width=device-width" in str(parsed.values("content"))
    assert "prefers-color-scheme: dark" in text


def test_a_host_that_left_and_a_gpu_without_figures_are_shown(tmp_path):
    lost = Gpu(index=3, state="lost", message="GPU is lost")
    host = msgspec.structs.replace(HOST, driver=None, engines=(), gpus=(lost,))
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", host=host, plan=None, verdict=None, left=LEFT)
    text = page(tmp_path).text
    assert f"failed at validate: {LEFT}" in text
    assert "no NVIDIA driver" in text
    assert "no container engine" in text
    assert "lost: GPU is lost" in text


def test_plots_have_a_line_for_each_site_and_the_final_model():
    loss, accuracy = plots(PASS)
    assert [(series.name, len(series.points)) for series in loss.series] == [("site-1", 3), ("site-2", 3)]
    assert [label for _, label in loss.x_ticks] == ["1", "2", "3"]
    lines = [(series.name, len(series.points)) for series in accuracy.series]
    assert lines == [("site-1", 3), ("site-2", 3), ("final model", 1)]
    assert [label for _, label in accuracy.x_ticks] == ["0", "1", "2", "3"]
    assert (loss.x_label, loss.y_label) == ("round", "mean loss (no unit)")
    assert (accuracy.x_label, accuracy.y_label) == ("rounds aggregated", "accuracy (fraction correct)")


def test_plots_are_drawn_with_their_labels_and_legend(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    parsed = page(tmp_path)
    for label in ("mean loss (no unit)", "accuracy (fraction correct)", "site-1", "site-2", "final model"):
        assert label in parsed.text, label
    assert len([points for points in parsed.values("points") if len(points.split()) == 3]) == 4


def test_a_run_without_rounds_has_no_plots():
    assert plots(msgspec.structs.replace(PASS, rounds=())) == []
    lost = tuple(msgspec.structs.replace(job_round, loss=None, metrics={}) for job_round in PASS.rounds)
    assert plots(msgspec.structs.replace(PASS, rounds=lost)) == []


def test_the_time_in_a_queue_is_shown_beside_the_runs(tmp_path):
    for waited_s, queue in ((3700.0, " after 1 h 1 min in the queue"), (None, "")):
        verdict = msgspec.structs.replace(PASS, duration_s=70.0, waited_s=waited_s)
        add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=verdict)
        assert f"took 1 min 10 s{queue} on " in page(tmp_path).text
