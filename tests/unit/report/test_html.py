# SPDX-License-Identifier: Apache-2.0
"""The pages: without any other file, complete, and deaf to what hosts put in them."""

import base64
import hashlib
import re
import shutil
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, HOST, LEFT, PASS, PLAN, SHA, add_host, fill, three_hosts

from rekindle.records import Finding, Gpu, JobRound, Rung
from rekindle.report.html import Pages, make_plots
from rekindle.report.reports import write_reports
from rekindle.results.contents import gather_results

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


def html(folder):
    return Pages(gather_results(folder)).render_all()


def host_html(folder, name="gpu-1"):
    results = gather_results(folder)
    return Pages(results).render_host(next(host for host in results.hosts if host.name == name))


def page(folder):
    return Page(html(folder))


def host_page(folder, name="gpu-1"):
    return Page(host_html(folder, name))


def test_the_first_step_that_fails_is_named(tmp_path):
    rungs = (
        Rung(name="matrix product", state="holds", message="It is right.", seconds=1.0),
        Rung(name="collective", state="fails", message=f"NCCL error {HOSTILE}.", seconds=1.0),
        Rung(name="training alone", state="not tried", message="Not tried.", seconds=0.0),
    )
    fill(tmp_path, "gpu-1")
    add_host(tmp_path, "gpu-1", verdict=replace(FAIL, rungs=rungs))
    shown = host_page(tmp_path)
    text = " ".join(shown.text.split())
    assert "First step that fails: collective" in text
    assert f"collective: fails. NCCL error {HARMLESS}" in text
    assert "script" not in shown.tags


SHOWN = """
1 of 3 hosts proven; 1 FAIL, 1 SKIPPED.|No verdict was collected.|Remedy: Train longer.
Final accuracy 0.4; at least 0.95 is required.|pt_ddp on gpu-2|3 min 20 s (gpu-1)|4 × NVIDIA H200
rekindle judge gpu-2/pt_ddp
"""
SHOWN_OF_HOST = """
evidence/site-1.rank-0.jsonl:4|87 %|2048 MiB|nvflare 2.7.3, torch 2.15.0|Ubuntu 24.04.3 LTS
NVIDIA driver 580.159.04 (CUDA up to 13.0); Podman 4.3.1|driver: Driver 580.159.04 runs CUDA 13.2.
dcgmi: missing|Warning: The host's Python is old.|final accuracy 0.9667|2 checks: 2 hold
"""


def lacks(shown, parts):
    text = " ".join(shown.text.split())
    return [part for line in parts.strip().splitlines() for part in line.split("|") if part not in text]


def test_the_pages_show_all_that_the_records_have(tmp_path):
    three_hosts(tmp_path)
    assert lacks(page(tmp_path), SHOWN) == []
    shown = host_page(tmp_path)
    assert lacks(shown, SHOWN_OF_HOST) == []
    assert SHA[:12] in shown.text
    failed = host_page(tmp_path, "gpu-2")
    assert "What does not hold, or is not shown" in failed.text


def test_the_answer_comes_first_and_only_a_run_that_passed_is_green(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    assert '<h1 class="PASS">1 of 1 hosts proven.</h1>' in html(tmp_path)
    assert '<h1 class="FAIL">The run had no hosts.' in html(fill(tmp_path))


def test_the_matrix_has_a_letter_for_each_job_and_leads_to_the_host_s_page(tmp_path):
    plan = replace(PLAN, jobs=("pt_ddp", "llm_sft"))
    fill(tmp_path, "gpu-1", "gpu 2/..", "gpu-3")
    add_host(tmp_path, "gpu-1", plan=plan, left=LEFT, state="unreachable")
    add_host(tmp_path, "gpu-3", verdict=FAIL)
    text = html(tmp_path)
    rows = re.findall(r'<tr data-kinds="(.*?)" data-host="(\d)".*?>(.*?)</tr>', text, re.DOTALL)
    assert [row[:2] for row in rows] == [("FAIL", "2"), ("LOST", "0"), ("SKIPPED", "1")]  # the worst first
    links = [re.findall(r'href="([^"]*)" title="(\w+)">(\w)<', row) for *_, row in rows]
    assert links[1] == [
        ("gpu-1/report.html#pt_ddp", "PASS", "P"),
        ("gpu-1/report.html#llm_sft", "LOST", "L"),
    ]
    assert links[2] == [("gpu%202%2F../report.html", "SKIPPED", "S")]
    assert 'id="llm_sft"' in host_html(tmp_path)


def test_a_site_of_a_federation_without_a_row_of_its_own_leads_to_its_page(tmp_path):
    hosts = ("gpu-1", "federations")
    fill(tmp_path, *hosts, asked=dict.fromkeys(hosts, "federate"))
    add_host(tmp_path, "gpu-1", plan=replace(PLAN, jobs=(), federated=("pt_ddp",)), verdict=None)
    add_host(tmp_path, "federations", host=None)
    text = html(tmp_path)
    assert '<a class="name PASS" href="federations/report.html"' in text
    assert '<a class="name " href="gpu-1/report.html"' in text
    assert '<h1 class="PASS">1 of 1 jobs of the federation proven.</h1>' in text


def test_a_cause_has_its_hosts_and_the_lines_around_the_evidence(tmp_path):
    found = Finding(
        name="x",
        cause="It is full.",
        layer="host",
        remedy="Free it.",
        confidence="certain",
        file="job.log",
        line=2,
    )
    fill(tmp_path, "gpu-1", "gpu-2")
    for host in ("gpu-1", "gpu-2"):
        add_host(tmp_path, host, verdict=replace(FAIL, findings=(found,), layer="host"))
        (tmp_path / host / "pt_ddp/job.log").write_text("one\n<b>two</b>\nthree\n")
    text = html(tmp_path)
    assert text.count("Train longer.") == 1
    assert '<a href="gpu-1/pt_ddp/job.log"><code>gpu-1/pt_ddp/job.log:2</code></a>' in text
    assert "<code><mark>&lt;b&gt;two&lt;/b&gt;</mark></code></p>" in text
    assert "     1  one\n<mark>     2  &lt;b&gt;two&lt;/b&gt;</mark>\n     3  three\n</pre>" in text
    for host in ("gpu-1", "gpu-2"):
        assert f'<a class="name" href="{host}/report.html">{host}</a>' in text
    assert '<a href="../gpu-2/pt_ddp/job.log">' in host_html(tmp_path, "gpu-2")
    (tmp_path / "gpu-1/pt_ddp/job.log").unlink()
    assert "<p><b>Seen:</b> <code>gpu-1/pt_ddp/job.log:2</code></p>" in html(tmp_path)


def test_a_cause_has_the_most_severe_action_of_its_hosts_and_none_where_there_is_none(tmp_path):
    fill(tmp_path, "gpu-1", "gpu-2")
    for host, action in (("gpu-1", "RETEST"), ("gpu-2", "DRAIN")):
        add_host(tmp_path, host, verdict=replace(FAIL, action=action))
    assert '<b class="action">DRAIN</b>' in html(tmp_path)
    for host, action in (("gpu-1", "NONE"), ("gpu-2", None)):
        add_host(tmp_path, host, verdict=replace(FAIL, action=action))
    assert 'class="action"' not in html(tmp_path)


def test_each_of_forty_hosts_has_its_page_and_no_link_leads_nowhere(tmp_path, forty):
    write_reports(shutil.copytree(forty, tmp_path, dirs_exist_ok=True))
    assert len(list(tmp_path.glob("gpu-*/report.html"))) == 40
    parsed = Page((tmp_path / "report.html").read_text())
    links = [value.split("#") for value in parsed.values("href")]
    assert [file for file, *_ in links if file and not (tmp_path / file).is_file()] == []
    assert {place for file, *place in links if not file for place in place} <= set(parsed.values("id"))


@pytest.mark.parametrize("of", [page, host_page])
def test_it_needs_no_other_file_no_script_and_no_network(tmp_path, of):
    three_hosts(tmp_path)
    parsed = of(tmp_path)
    assert not {"link", "img", "iframe", "object", "base"} & set(parsed.tags)
    assert not [value for value in parsed.values("href") if re.match(r"\w*:|/", value)]
    assert parsed.tags.count("main") == 1
    assert "width=device-width" in str(parsed.values("content"))


def test_only_our_script_runs_and_without_it_the_filter_is_not_shown(tmp_path):
    three_hosts(tmp_path)
    text = html(tmp_path)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', text)
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert '<div class="search" hidden>' in text
    assert len(re.findall(r'<input type="checkbox" name="kind" value="[A-Z]+" disabled>', text)) == 3
    assert "<script" not in host_html(tmp_path)
    assert not re.search(r"url\(|@import|https?://", text)
    assert "prefers-color-scheme: dark" in text


def test_tables_have_captions_and_scopes(tmp_path):
    three_hosts(tmp_path)
    for parsed in (page(tmp_path), host_page(tmp_path), host_page(tmp_path, "gpu-2")):
        assert parsed.tags.count("caption") == parsed.tags.count("table") > 0
        assert parsed.tags.count("th") == len(parsed.values("scope"))


def test_a_host_that_left_and_a_gpu_without_figures_are_shown(tmp_path):
    lost = Gpu(index=3, state="lost", message="GPU is lost")
    host = replace(HOST, driver=None, engines=(), gpus=(lost,))
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", host=host, plan=None, verdict=None, left=LEFT)
    text = host_page(tmp_path).text
    assert f"failed at validate: {LEFT}" in text
    assert "no NVIDIA driver" in text
    assert "no container engine" in text
    assert "lost: GPU is lost" in text


def test_plots_have_a_line_for_each_site_and_the_final_model():
    loss, accuracy = make_plots(PASS)
    assert [(series.name, len(series.points)) for series in loss.series] == [("site-1", 3), ("site-2", 3)]
    assert [label for _, label in loss.x_ticks] == ["1", "2", "3"]
    lines = [(series.name, len(series.points)) for series in accuracy.series]
    assert lines == [("site-1", 3), ("site-2", 3), ("final model", 1)]
    assert [label for _, label in accuracy.x_ticks] == ["0", "1", "2", "3"]
    assert (loss.x_label, loss.y_label) == ("round", "mean loss (no unit)")
    assert (accuracy.x_label, accuracy.y_label) == ("rounds aggregated", "accuracy (fraction correct)")


def test_plots_are_drawn_with_their_labels_and_legend(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    parsed = host_page(tmp_path)
    for label in ("mean loss (no unit)", "accuracy (fraction correct)", "site-1", "site-2", "final model"):
        assert label in parsed.text, label
    assert len([points for points in parsed.values("points") if len(points.split()) == 3]) == 4


def test_a_run_without_rounds_has_no_plots():
    assert make_plots(replace(PASS, rounds=())) == []
    lost = tuple(replace(job_round, loss=None, metrics={}) for job_round in PASS.rounds)
    assert make_plots(replace(PASS, rounds=lost)) == []


def test_the_time_in_a_queue_is_shown_beside_the_runs(tmp_path):
    for waited_s, queue in ((3700.0, " after 1 h 1 min in the queue"), (None, "")):
        verdict = replace(PASS, duration_s=70.0, waited_s=waited_s)
        add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=verdict)
        assert f"1 min 10 s{queue} on " in host_page(tmp_path).text


def test_a_federations_page_has_what_each_site_sent_in_each_round(tmp_path):
    def sent(site, number, late, size=None):
        return JobRound(
            round=number, site=site, loss=None, metrics={}, samples=1, seconds=1, bytes_out=size, late_s=late
        )

    rounds = (sent("gpu-1", 0, 0.0, 5 << 20), sent("gpu-2", 0, 2.34, 5 << 20), sent("gpu-1", 1, 0.0))
    fill(tmp_path, "gpu-1", "federations")
    for name in ("gpu-1", "federations"):
        verdict = replace(PASS, host=name, rounds=rounds)
        add_host(tmp_path, name, verdict=verdict, **({} if name == "gpu-1" else {"host": None, "plan": None}))
    text = host_page(tmp_path, "federations").text
    table = text.partition("What each site sent in each round, and how long after the first")[2]
    assert "".join(table.split()).startswith("site12gpu-15.0MiB,firstfirstgpu-25.0MiB,+2.3s–")
    assert "What each site sent" not in host_page(tmp_path).text


@pytest.mark.parametrize(("name", "linked"), [("job.log", True), ("evil.html", False), ("x.svg", False)])
def test_a_page_links_to_text_alone(tmp_path, name, linked):
    found = Finding(name="x", cause="c", layer="host", remedy="r", confidence="certain", file=name, line=1)
    fill(tmp_path, "gpu-1")
    add_host(tmp_path, "gpu-1", verdict=replace(FAIL, findings=(found,), layer="host"))
    (tmp_path / "gpu-1/pt_ddp" / name).write_text("one\n")
    assert (f'href="gpu-1/pt_ddp/{name}"' in html(tmp_path)) is linked
    assert f"gpu-1/pt_ddp/{name}:1" in html(tmp_path)
