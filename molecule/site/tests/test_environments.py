# SPDX-License-Identifier: Apache-2.0
"""The environments as a user of the host meets them."""

import json
import os
import re
from pathlib import Path

import pytest

ROOT = "/home/lease/rekindle"
RESULTS = Path(os.environ["REKINDLE_RESULTS"], "leased")
ENVIRONMENTS = {
    environment["framework"]: environment
    for environment in json.loads((RESULTS / "env.json").read_text())["environments"]
}


def test_the_driver_and_the_planned_framework_are_there():
    assert set(ENVIRONMENTS) == {"driver", "torch"}


@pytest.mark.parametrize("module", ["torch", "nvflare"])
def test_it_imports_and_reports_its_version(host, module):
    torch = ENVIRONMENTS["torch"]
    output = host.check_output(f"{torch['python']} -c 'import {module}; print({module}.__version__)'")
    assert output == torch["packages"][module]


def test_it_adds_without_a_gpu_or_a_network(host):
    sums = "import torch; print(torch.cuda.is_available(), int(torch.ones(3).sum()))"
    assert host.check_output(f"{ENVIRONMENTS['torch']['python']} -c '{sums}'") == "False 3"


@pytest.mark.parametrize("name", ["", "envs", "jobs", "runs", "tmp", "cache", "logs"])
def test_each_folder_is_the_users_alone(host, name):
    folder = host.file(f"{ROOT}/{name}")
    assert (folder.user, folder.mode) == ("lease", 0o700)


def test_only_whole_environments_are_left_and_in_tmpdir_what_uv_ansible_and_torch_keep(host):
    built = {Path(environment["path"]).name for environment in ENVIRONMENTS.values()}
    there = host.check_output(f"ls -A {ROOT}/envs").splitlines()
    assert set(there) == built | {".driver.lock", ".torch.lock"}
    assert [
        name
        for name in host.file(f"{ROOT}/tmp").listdir()
        if not re.fullmatch(r"ansible|uv-.*\.lock|torch(elastic|inductor)_.*", name)
    ] == []


def test_the_hosts_own_python_has_nothing_new(host):
    assert host.run("/usr/bin/python3 -c 'import torch'").rc != 0
