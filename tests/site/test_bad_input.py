"""Bad input: a sentence with its fix, other hosts go on, nothing is lost."""

import json
import re
import textwrap

import pytest
from plays import play


def _inventory(tmp_path, hosts):
    path = tmp_path / "hosts.yml"
    path.write_text("all:\n  hosts:\n" + textwrap.indent(textwrap.dedent(hosts), "    "))
    return path


def _row(results, host):
    rows = json.loads((results / "results.json").read_text())["rows"]
    return next(row for row in rows if row["host"] == host)


def _local(name, tmp_path, extra=""):
    return f"""
{name}:
  ansible_connection: local
  rekindle_gpus_required: false
  rekindle_min_free_gb: 1
  rekindle_root: {tmp_path}/{name}
{extra}"""


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("  rekindle_rooot: /data", r"rekindle_rooot.*Fix:.*rekindle_root"),
        ("  rekindle_min_free_gb: 100000000", r"free.*Fix:"),
        ("  rekindle_gpus_required: true", r"(GPU|driver).*Fix:"),
        ("  rekindle_jobs: [pt_dpp]", r"no job 'pt_dpp'.*Fix:"),
        ("  rekindle_root: /data with space", r"white space.*Fix:"),
        (
            "  lease_end: 2026-11-21T18:00",
            r"lease_end is set, which is not a setting\. Fix: write lease_ends",
        ),
        ("  rekindle_budget: soon", r"budget 'soon' is not a length of time\. Fix:"),
        ("  rekindle_job_arguments: {llm_sfd: {local_epoch: 2}}", r"llm_sfd, which is not in .*Fix:"),
    ],
)
def test_a_bad_setting_is_one_sentence_and_the_other_host_goes_on(tmp_path, extra, said):
    inventory = _inventory(tmp_path, _local("bad", tmp_path, extra) + _local("good", tmp_path))
    first = play("playbooks/preflight.yml", inventory, tmp_path / "r")
    second = play("playbooks/plan.yml", inventory, tmp_path / "r") if first.status == 0 else first
    assert second.status != 0
    assert re.search(said, _row(tmp_path / "r", "bad")["cause"])
    assert "Traceback" not in first.output + second.output
    assert (tmp_path / "r" / "good" / "host.json").exists()


@pytest.mark.parametrize("stage", ["plan", "environments", "validate", "collect"])
def test_a_stage_that_is_run_alone_refuses_it_too(tmp_path, stage):
    inventory = _inventory(tmp_path, _local("good", tmp_path))
    done = play(f"playbooks/{stage}.yml", inventory, tmp_path / "r", "-e", "lease_end=2026-11-21T18:00")
    assert done.status != 0
    assert "lease_end is set, which is not a setting. Fix: write lease_ends" in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_an_unreachable_host_is_named_and_the_other_goes_on(tmp_path):
    lost = "lost: {ansible_host: 127.0.0.1, ansible_port: 1, ansible_ssh_retries: 0}\n"
    done = play(
        "playbooks/preflight.yml", _inventory(tmp_path, lost + _local("good", tmp_path)), tmp_path / "r"
    )
    assert done.status != 0
    assert re.search(
        r"(refused|unreachable|connect).*Fix:", _row(tmp_path / "r", "lost")["cause"], re.I | re.S
    )
    assert (tmp_path / "r" / "good" / "host.json").exists()


def test_a_host_whose_every_stage_fails_still_gets_a_report(tmp_path):
    bad = _local("bad", tmp_path, "  rekindle_gpus_required: true")
    done = play("site.yml", _inventory(tmp_path, bad), tmp_path / "r")
    assert done.status != 0
    assert "report.html" in done.output
    assert _row(tmp_path / "r", "bad")["verdict"] == "SKIPPED"


def test_an_empty_inventory_is_no_success(tmp_path):
    done = play("site.yml", _inventory(tmp_path, ""), tmp_path / "r")
    assert done.status != 0


def test_a_missing_inventory_is_no_success(tmp_path):
    assert play("site.yml", tmp_path / "nowhere", tmp_path / "r").status != 0
