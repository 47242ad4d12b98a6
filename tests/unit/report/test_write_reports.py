# SPDX-License-Identifier: Apache-2.0
"""The reports of a results folder."""

import errno
import json
import os
import re
from pathlib import Path

import jsonschema
import pytest
from samples.folders import FAIL, LEFT, NOW, add_host, fill, three_hosts

from rekindle.cli import schema
from rekindle.records import RecordError
from rekindle.report.reports import write_reports

NAMES = ("report.html", "results.json", "junit.xml", "metrics.prom")


def test_all_files_come_from_the_records_alone_each_time_the_same(tmp_path):
    write_reports(three_hosts(tmp_path))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert before.keys() == {"run.json", *NAMES}
    assert len(list(tmp_path.glob("gpu-*/report.html"))) == 3
    write_reports(tmp_path)
    assert [(tmp_path / name).read_bytes() for name in NAMES] == [before[name] for name in NAMES]


def test_results_json_for_programs(golden, tmp_path):
    folder = fill(tmp_path / "run", "gpu-1", "gpu-2")
    add_host(folder, "gpu-1", verdict=FAIL)
    add_host(folder, "gpu-2", host=None, plan=None, verdict=None, left=LEFT)
    write_reports(folder)
    results = json.loads((folder / "results.json").read_text())
    rows, hosts = results.pop("rows"), results.pop("hosts")
    golden(*map(json.dumps, (results, *rows, *hosts)))


def test_results_json_fits_its_schema_also_of_a_run_of_an_older_version(tmp_path):
    three_hosts(tmp_path)
    minimal = {"schema": "rekindle/run/1", "run": "r", "started": NOW, "hosts": ["gpu-1", "gpu-2", "gpu-3"]}
    (tmp_path / "run.json").write_text(json.dumps(minimal))
    for record in ("host.json", "pt_ddp/verdict.json"):
        path = tmp_path / "gpu-1" / record
        path.write_text(re.sub(r'("schema": *"[a-z/]+)\d+"', r'\g<1>0"', path.read_text()))
    write_reports(tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    validator = jsonschema.Draft202012Validator(json.loads(schema.run("report").text))
    validator.validate(results)
    old, same = (row["cause"] for row in results["rows"] if row["job"] == "pt_ddp")
    assert "was written by another version of Rekindle" in old
    assert same == FAIL.cause
    assert not validator.is_valid(results | {"schema": "rekindle/results/0"})


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_leaves_no_report_that_looks_green(tmp_path, monkeypatch, name):
    write_reports(three_hosts(tmp_path))
    real = Path.replace

    def full(self, target):
        if target.name == name:
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(RecordError, match=rf"{name} cannot be written: No space left on device\. Fix:"):
        write_reports(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["run.json"]
    assert not list(tmp_path.glob("*/report.html"))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/tmp/x"])
def test_no_page_is_written_for_a_host_that_has_no_folder_in_the_results(tmp_path, name):
    folder = tmp_path / "r"
    write_reports(fill(folder, name))
    pages = [path.relative_to(tmp_path) for path in tmp_path.rglob("report.html")]
    assert pages == [Path("r/report.html")]
    assert "of 1 hosts" in (folder / "report.html").read_text()


def test_reports_are_for_their_owner_alone_whatever_the_umask(tmp_path):
    three_hosts(tmp_path)
    (tmp_path / "junit.xml").touch(0o666)
    before = os.umask(0)
    try:
        write_reports(tmp_path)
    finally:
        os.umask(before)
    for name in NAMES:
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("linked", ["gpu-1", "gpu-1/pt_ddp", "federations", "gpu-1/report.html"])
def test_nothing_is_written_where_a_link_leads(tmp_path, linked):
    folder, mine = fill(tmp_path / "run", "gpu-1"), tmp_path / "mine"
    add_host(folder, "gpu-1")
    if (folder / linked).exists():
        (folder / linked).rename(mine)
    mine.mkdir(exist_ok=True)
    (folder / linked).symlink_to(mine)
    before = sorted(path.name for path in mine.iterdir())
    with pytest.raises(RecordError, match=r"is a link to .*mine, and nothing is written through it\. Fix:"):
        write_reports(folder)
    assert sorted(path.name for path in mine.iterdir()) == before
    assert not (folder / "report.html").exists()
