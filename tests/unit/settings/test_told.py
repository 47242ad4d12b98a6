"""The mistakes of a play's hosts, as Ansible knows their variables: the same mistake is one line."""

import shutil
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import trust_as_template
from plays import REPOSITORY

from rekindle import settings


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
        get_roles=lambda: [SimpleNamespace(get_name=lambda name=name: name) for name in stages],
    )


@pytest.fixture
def lines(tmp_path):
    def told(hosts, *stages):
        return settings.of_play(_play(hosts, *stages), tmp_path, REPOSITORY)

    return told


BUDGET = "rekindle_budget 'soon' is not a length of time. Fix: write it as 45m, 1h30m or 90s."


def test_hosts_without_a_mistake_have_no_line(lines):
    assert lines({"a": {}, "b": {"rekindle_jobs": ["pt_ddp"]}}) == []


@pytest.mark.parametrize(
    ("count", "who"), [(1, "gpu-0"), (3, "gpu-0, gpu-1, gpu-2"), (50, "gpu-0 and 49 more")]
)
def test_a_mistake_of_many_hosts_is_one_line(lines, count, who):
    hosts = {f"gpu-{number}": {"rekindle_budget": "soon"} for number in range(count)}
    assert lines({**hosts, "good": {}}) == [f"{who}: {BUDGET}"]


def test_each_mistake_of_each_host_is_told(lines):
    hosts = {"a": {"rekindle_budget": "soon", "rekindle_jobs": []}, "b": {"rekindle_budget": "later"}}
    assert [line.partition(" ")[0] for line in lines(hosts)] == ["a:", "a:", "b:"]


def test_templates_are_filled_in_and_one_that_cannot_be_is_a_mistake(lines):
    hosts = {
        "good": {"rekindle_budget": trust_as_template("{{ hours }}h"), "hours": 2},
        "bad": {"rekindle_budget": trust_as_template("{{ hours }}h")},
        "worse": {"rekindle_jobs": trust_as_template("{{ a b }}")},
    }
    bad, worse = lines(hosts)
    fix = "Fix: define what it refers to, or write a value."
    assert bad == f"bad: rekindle_budget cannot be told: 'hours' is undefined. {fix}"
    assert worse.startswith("worse: rekindle_jobs cannot be told: Syntax error in template: ")
    assert "\n" not in worse


def test_variables_that_cannot_be_read_are_a_mistake_and_the_others_are_told(lines):
    assert lines({"a": AnsibleError("Attempting to decrypt\nbut no vault secrets found."), "b": {}}) == [
        "a: Its variables cannot be read: Attempting to decrypt but no vault secrets found. "
        "Fix: mend the inventory."
    ]


def test_a_plan_that_stays_is_held_against_the_wheelhouse(lines, recordings, tmp_path):
    shutil.copytree(recordings / "h200-x2", tmp_path / "h200")
    (tmp_path / "wheels" / "0123456789ab").mkdir(parents=True)
    hosts = {"h200": {"rekindle_wheelhouse": str(tmp_path / "wheels")}, "bare": {}}
    (line,) = lines(hosts, "environments")
    assert line.startswith("h200: rekindle_wheelhouse is ")
    assert " which has 0 of the 4 files of driver.txt. Fix: rekindle bundle " in line
    assert lines(hosts, "plan", "environments") == []  # which makes another plan
    assert lines(hosts, "validate") == []


def test_a_name_of_two_lines_is_told_on_one(lines):
    (line,) = lines({"a": {"rekindle_jobs": ["pt_ddp"], "rekindle_job_arguments": {"x\ny": {}}}})
    assert line.startswith("a: rekindle_job_arguments has options for x y, which is not in rekindle_jobs.")
