"""The task that ends a playbook: it fails unless everything passed, and the reports are there in any case."""

from report_folders import add_host, fill, three_hosts

REPORTS = ["junit.xml", "report.html", "results.json"]


def _run(load, folder):
    result = load("write_reports").run({"folder": str(folder)})
    return result, sorted(path.name for path in folder.glob("*.*") if path.name in REPORTS)


def test_if_everything_passed_it_does(load, tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    assert _run(load, tmp_path) == ({}, REPORTS)


def test_if_anything_did_not_it_fails(load, tmp_path):
    said = "Not every required job passed: the table below says which."
    assert _run(load, three_hosts(tmp_path)) == ({"failed": True, "msg": said}, REPORTS)


def test_if_nothing_ran_it_fails(load, tmp_path):
    assert _run(load, fill(tmp_path, "gpu-1"))[0]["failed"]


def test_a_folder_that_is_none_fails_with_its_reason(load, tmp_path):
    result, reports = _run(load, tmp_path)
    assert result["failed"]
    assert " is not a results folder: it has no run.json. Fix: " in result["msg"]
    assert reports == []


def test_reports_that_cannot_be_written_fail(load, tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    (tmp_path / "junit.xml").mkdir()
    result, _ = _run(load, tmp_path)
    assert "junit.xml cannot be written: Is a directory. Fix: " in result["msg"]
