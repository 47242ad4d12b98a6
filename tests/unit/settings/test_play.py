# SPDX-License-Identifier: Apache-2.0
"""The mistakes of a play's hosts, as Ansible knows their variables: the same mistake is one line."""

import shutil
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import trust_as_template
from runners.plays import REPOSITORY

from rekindle import settings
from rekindle.results import seal


def _play(hosts, *stages):
    """Return a play of Ansible's, of which it asks each host's variables."""

    def get_vars(play, host):
        if isinstance(hosts[host.name], Exception):
            raise hosts[host.name]
        return hosts[host.name]

    inventory = SimpleNamespace(get_hosts=lambda pattern: [SimpleNamespace(name=name) for name in hosts])
    manager = SimpleNamespace(_inventory=inventory, get_vars=get_vars)
    return SimpleNamespace(
        hosts="all",
        get_variable_manager=lambda: manager,
        get_loader=DataLoader,
        get_roles=lambda: [SimpleNamespace(get_name=lambda name=name, **_: name) for name in stages],
    )


@pytest.fixture
def lines(tmp_path):
    def check(hosts, *stages):
        return settings.find_play_mistakes(_play(hosts, *stages), tmp_path, REPOSITORY)

    return check


def test_hosts_without_a_mistake_have_no_line(lines):
    assert lines({"a": {}, "b": {"rekindle_jobs": ["pt_ddp"]}}) == []


@pytest.mark.parametrize("count", [1, 3, 50])
def test_a_mistake_of_many_hosts_is_one_line(golden, lines, count):
    hosts = {f"gpu-{number}": {"rekindle_budget": "soon"} for number in range(count)}
    golden(*lines({**hosts, "good": {}}))


def test_each_mistake_of_each_host_has_a_line_also_where_nothing_can_be_read(golden, lines):
    hosts = {
        "a": {"rekindle_budget": "soon", "rekindle_jobs": []},
        "b": {"rekindle_budget": "later"},
        "good": {"rekindle_budget": trust_as_template("{{ hours }}h"), "hours": 2},
        "bad": {"rekindle_budget": trust_as_template("{{ hours }}h")},
        "vault": AnsibleError("Attempting to decrypt\nbut no vault secrets found."),
        "two lines": {"rekindle_jobs": ["pt_ddp"], "rekindle_job_arguments": {"x\ny": {}}},
    }
    golden(*lines(hosts))
    with pytest.raises(AnsibleError) as error:
        DataLoader().load("a: 1\n\tb: 2\n", file_name="/gv/all.yml")
    (tab,) = lines({"tab": error.value})
    assert tab.endswith(" (/gv/all.yml:2:1). Fix: correct the inventory.")
    (worse,) = lines({"worse": {"rekindle_jobs": trust_as_template("{{ a b }}")}})
    assert worse.startswith("worse: rekindle_jobs cannot be evaluated: Syntax error in template: ")
    assert "\n" not in worse


def test_a_folder_of_others_files_gets_no_results(lines, tmp_path):
    (tmp_path / "log.txt").touch()
    assert lines({"bare": {}}, "plan") == []
    (tmp_path / "SHA256SUMS").touch()
    (line,) = lines({"bare": {}}, "plan")
    assert line.endswith(
        "has SHA256SUMS and no run.json: others' files would be lost. "
        "Fix: name a new folder in rekindle_results, or one that has results."
    )


def test_results_that_another_key_sealed_get_no_more(lines, tmp_path, monkeypatch):
    (tmp_path / "run.json").touch()
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path.with_name("other")))
        seal.seal_folder(tmp_path, None)
    for _ in ("without a key", "with one"):
        (line,) = lines({"bare": {}}, "plan")
        assert f"{tmp_path} was sealed by another key, SHA256:" in line
        seal.state.provide_key()


def test_a_plan_that_stays_is_held_against_the_wheelhouse(golden, lines, recordings, tmp_path):
    shutil.copytree(recordings / "h200-x2", tmp_path / "h200")
    (tmp_path / "run.json").touch()
    (tmp_path / "wheels" / "0123456789ab").mkdir(parents=True)
    hosts = {"h200": {"rekindle_wheelhouse": str(tmp_path / "wheels")}, "bare": {}}
    golden(*lines(hosts, "environments"))
    assert lines(hosts, "plan", "environments") == []  # which makes another plan
    assert lines(hosts, "validate") == []


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({}, []),
        ({"skip_tags": ["theirs"]}, []),
        ({"tags": ["nosuch"]}, ["--tags"]),
        ({"skip_tags": ["theirs", "validate"]}, ["--skip-tags"]),
        ({"skip_tags": ["untagged"], "start_at_task": "x"}, ["--skip-tags", "--start-at-task"]),
    ],
)
def test_options_that_leave_tasks_out_are_refused(given, refused):
    options = {"tags": ["all"], "skip_tags": [], "start_at_task": None, **given}
    found = settings.refuse_leaving_out(options, REPOSITORY)
    assert [
        line.partition(" leaves out tasks, and nothing would be proven. Fix: ")[0] for line in found
    ] == refused
