# SPDX-License-Identifier: Apache-2.0
"""site.yml on this machine: what a user sees, what comes home, and what a second run changes."""

import json
import re
import stat
import xml.etree.ElementTree as ET

from runners.leaks import CANARY, leaks
from runners.plays import play

from rekindle import cli
from rekindle.host import folders
from rekindle.records import EnvRecord, HostRecord, PlanRecord, VerdictRecord, read_record


def test_it_ends_with_a_table_and_a_pass(site):
    assert site.status == 0, site.output
    assert re.search(r"local\s.*pt_ddp\s.*PASS", site.output)
    assert "report.html" in site.output


def test_progress_is_shown_as_it_runs(site):
    assert re.search(r"local pt_ddp: round \d/3, loss [\d.]+, (about \d+ s left, )?\d+ s", site.output)


def test_a_host_with_one_job_costs_no_more_than_sixteen_tasks_and_one_for_each_roles_arguments(site):
    ok, skipped = re.search(r"^local\s.*? ok=(\d+) .*? skipped=(\d+)", site.output, re.MULTILINE).groups()
    assert int(ok) + int(skipped) <= 16 + 8


def test_every_record_is_home_and_fits_its_schema(site):
    home = site.results / "local"
    host = read_record(home / "host.json", HostRecord)
    plan = read_record(home / "plan.json", PlanRecord)
    env = read_record(home / "env.json", EnvRecord)
    verdict = read_record(home / "pt_ddp" / "verdict.json", VerdictRecord)
    build = plan.environments[0].build
    torch = next(environment for environment in env.environments if environment.framework == "torch")
    assert host.host == "local"
    assert torch.lock_sha256 == build.lock_sha256 == verdict.lock_sha256
    assert torch.probe["build"]["torch"] == torch.packages["torch"] == build.version + "+cpu"
    assert torch.packages["nvflare"] == "2.7.3"
    assert verdict.final_metrics["accuracy"] >= 0.95
    assert {(device.site, device.rank) for device in verdict.devices} == {
        (f"site-{s}", r) for s in (1, 2) for r in (0, 1)
    }


def test_all_that_the_verdict_cites_came_home(site):
    home = site.results / "local" / "pt_ddp"
    for result in read_record(home / "verdict.json", VerdictRecord).evidence:
        assert result.file is None or (home / result.file).is_file()


def test_four_reports_agree(site):
    results = json.loads((site.results / "results.json").read_text())
    suites = ET.parse(site.results / "junit.xml").getroot()
    assert [row["verdict"] for row in results["rows"]] == ["PASS"]
    assert [case.get("name") for case in suites.iter("testcase")] == ["pt_ddp"]
    assert not list(suites.iter("failure"))
    assert "PASS" in (site.results / "report.html").read_text()


def test_judging_again_at_home_gives_the_same(site, capsys, monkeypatch):
    home = site.results / "local" / "pt_ddp"
    monkeypatch.setattr("sys.argv", ["rekindle", "judge", str(home), "--json"])
    assert cli.main() == 0
    assert json.loads(capsys.readouterr().out) == json.loads((home / "verdict.json").read_text())


def test_what_came_home_is_as_it_was_sealed(site, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["rekindle", "verify", str(site.results)])
    assert cli.main() == 0
    run, rest = capsys.readouterr().out.splitlines()
    assert run == "local/pt_ddp is as it was sealed: PASS."
    assert rest.startswith("All other files are as they were sealed at ")


def test_folders_on_the_host_are_for_their_owner_alone(site, local):
    root = local.parent / "rekindle"
    assert {path.name for path in root.iterdir()} == set(folders.OURS)
    assert {stat.S_IMODE(path.stat().st_mode) for path in [root, *root.iterdir()]} == {0o700}


def _open(*folders):
    """Return what others than the owner may read, write or enter."""
    paths = [path for folder in folders for path in [folder, *folder.rglob("*")]]
    return [path for path in paths if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077]


def test_no_secret_of_controller_or_host_is_in_what_a_run_leaves(site, local):
    root = local.parent / "rekindle"
    assert CANARY not in site.output
    assert leaks(site.results) == []
    assert [leak for folder in ("runs", "logs", "jobs", "tmp") for leak in leaks(root / folder)] == []


def test_what_a_run_leaves_here_and_there_is_for_its_owner_alone(site, local):
    root = local.parent / "rekindle"
    assert _open(site.results, *(root / folder for folder in ("runs", "logs", "jobs"))) == []


def test_an_archive_does_not_stay_on_the_host(site, local):
    assert list((local.parent / "rekindle").rglob("*.tar.gz")) == []


def test_nothing_of_the_run_is_left_running(site, local):
    import psutil  # noqa: PLC0415

    root = str(local.parent / "rekindle")
    assert not [p.info for p in psutil.process_iter(["cmdline"]) if root in " ".join(p.info["cmdline"] or [])]


def test_check_of_a_bare_host_reads_and_plans_and_leaves_it_bare(local, tmp_path):
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(local.read_text().replace(str(local.parent / "rekindle"), str(tmp_path / "bare")))
    checked = play("site.yml", inventory, tmp_path / "r", "--check")
    assert checked.status == 0, checked.output
    assert read_record(tmp_path / "r" / "local" / "plan.json", PlanRecord).environments[0].build
    assert "local: ready" in checked.output
    assert re.search(r"to fetch from the package index: at most [1-9]\d+ MB", checked.output)
    assert not (tmp_path / "bare").exists()


def _costs(output):
    """Return how many tasks a host had, and how often each of them spoke to it: what a fleet pays for."""
    (ok, skipped), *_ = re.findall(r"^local\s.*? ok=(\d+) .*? skipped=(\d+)", output, re.MULTILINE)
    return int(ok) + int(skipped), len(re.findall(r"^<\S+> (?:EXEC|PUT|FETCH) ", output, re.MULTILINE))


def test_a_job_that_has_passed_is_brought_home_and_not_run_again(site, local, tmp_path):
    again = play("site.yml", local, tmp_path / "again", "-vvv")
    assert again.status == 0, again.output
    assert re.search(r"local\s+: ok=\d+\s+changed=0 ", again.output), again.output
    tasks, trips = _costs(again.output)
    assert tasks <= 16
    assert trips <= 9
    first, second = (folder / "local/pt_ddp/verdict.json" for folder in (site.results, again.results))
    assert second.read_bytes() == first.read_bytes()
