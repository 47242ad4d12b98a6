# SPDX-License-Identifier: Apache-2.0
"""Bad input: a sentence with its fix, other hosts go on, nothing is lost."""

import json
import re
import textwrap

import pytest
from runners.plays import OWN_PLAYBOOK, REPOSITORY, play


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


LOST = "lost: {ansible_host: 127.0.0.1, ansible_port: 1, ansible_ssh_retries: 0}\n"


def test_what_a_host_lacks_is_one_sentence_and_the_other_hosts_go_on(tmp_path):
    full = _local("full", tmp_path, "  rekindle_min_free_gb: 100000000\n")
    bare = _local("bare", tmp_path, "  rekindle_gpus_required: true\n")
    inventory = _inventory(tmp_path, full + bare + LOST + _local("good", tmp_path))
    done = play("playbooks/preflight.yml", inventory, tmp_path / "r")
    assert done.status != 0
    assert re.search(r"free.*Fix:", _row(tmp_path / "r", "full")["cause"])
    assert re.search(r"(GPU|driver).*Fix:", _row(tmp_path / "r", "bare")["cause"])
    lost = _row(tmp_path / "r", "lost")["cause"]
    assert re.search(r"(refused|unreachable|connect).*Fix:", lost, re.I | re.S)
    assert "Traceback" not in done.output
    assert (tmp_path / "r" / "good" / "host.json").exists()


BAD = """
  rekindle_rooot: /data
  rekindle_min_free_gb: much
  rekindle_jobs: [pt_dpp, llm_sft]
  rekindle_job_arguments: {llm_sft: {local_epoc: 2}}
  rekindle_pins: {torch: 2.11.1}
  rekindle_frameworks: [tensrflow]
  rekindle_capsule: /nowhere/at/all
"""
SAID = """
bad: rekindle_rooot is set, which is not a setting. Fix: write rekindle_root (see roles/settings).
bad: rekindle_min_free_gb is 'much', and has to be a number. Fix: write a number, such as 20.
bad: rekindle_frameworks has 'tensrflow' in it, which is not one of its choices. Fix: write tensorflow.
bad: rekindle_jobs names 'pt_dpp', and there is no such job in flare_jobs/. Fix: write pt_ddp.
bad: rekindle_job_arguments gives llm_sft local_epoc, which its job.py does not know. Fix: write local_epoch.
bad, good: budget 'soon' is not a length of time. Fix: write it as 45m, 1h30m or 90s.
bad: rekindle_pins pins torch to 2.11.1, and there is no such build. Fix: name one of 2.15.0, 2.13.0, 2.11.0, 2.10.0 and 4 more.
bad: rekindle_capsule is '/nowhere/at/all', and /nowhere/at/all is not a folder here. Fix: name one that is.
good: rekindle_job_arguments is 5, and has to be a mapping. Fix: write it as {name: value}.
bad, good: rekindle_wheelhouse is 'no', and HERE/no is not a folder here. Fix: name one that is.
"""  # noqa: E501


@pytest.mark.parametrize("more", [(), ("--check",)], ids=["", "check"])
def test_every_mistake_of_every_host_is_a_line_before_anything_is_done(tmp_path, more):
    good = _local("good", tmp_path, "  rekindle_job_arguments: 5\n")
    inventory = _inventory(tmp_path, _local("bad", tmp_path, BAD) + good)
    wrong = ("-e", "budget=soon", "-e", "rekindle_wheelhouse=no")
    done = play("site.yml", inventory, tmp_path / "r", *wrong, *more)
    assert done.status == 4
    answer = [line.removeprefix("[ERROR]: ") for line in done.output.splitlines() if "Fix:" in line]
    expected = SAID.replace("\\\n", "").replace("HERE", str(REPOSITORY)).strip().splitlines()
    assert sorted(answer) == sorted(expected)
    assert "TASK" not in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["hosts.yml"]


@pytest.mark.parametrize("stage", ["plan", "collect"])
def test_a_stage_that_is_run_alone_refuses_it_too(tmp_path, stage):
    inventory = _inventory(tmp_path, _local("good", tmp_path))
    done = play(f"playbooks/{stage}.yml", inventory, tmp_path / "r", "-e", "lease_end=2026-11-21T18:00")
    assert done.status == 4
    assert "lease_end is set, which is not a setting. Fix: write lease_ends" in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("part", "status"),
    [
        ("roles: [{role: rekindle.flare.preflight}], vars: {rekindle_jobs: [pt_dpp]}", 4),
        ("tasks: [{include_role: {name: rekindle.flare.preflight}, vars: {rekindle_jobs: [pt_dpp]}}]", 2),
    ],
    ids=["as it begins", "by its own task, where only that knows"],
)
def test_somebody_s_own_playbook_ends_by_the_same_words(tmp_path, part, status):
    (tmp_path / "mine.yml").write_text(f"- {{hosts: all, gather_facts: false, {part}}}\n")
    inventory = _inventory(tmp_path, _local("bad", tmp_path))
    done = play(tmp_path / "mine.yml", inventory, tmp_path / "r", **OWN_PLAYBOOK)
    assert done.status == status, done.output
    assert "rekindle_jobs names 'pt_dpp', and there is no such job in flare_jobs/. Fix: " in done.output
    assert "argument_spec" not in done.output
    assert not (tmp_path / "bad").exists()


def test_a_host_whose_every_stage_fails_still_gets_a_report(tmp_path):
    bad = _local("bad", tmp_path, "  rekindle_gpus_required: true")
    done = play("site.yml", _inventory(tmp_path, bad), tmp_path / "r")
    assert done.status != 0
    assert "report.html" in done.output
    assert _row(tmp_path / "r", "bad")["verdict"] == "SKIPPED"


def test_an_empty_or_a_missing_inventory_is_no_success(tmp_path):
    assert play("site.yml", _inventory(tmp_path, ""), tmp_path / "r").status != 0
    assert play("site.yml", tmp_path / "nowhere", tmp_path / "r").status != 0
