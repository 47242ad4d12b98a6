# SPDX-License-Identifier: Apache-2.0
"""A job as it was left on the host."""

import json

import pytest


@pytest.fixture
def run(host):
    """Return the folder of the one run."""
    (path,) = host.check_output("ls -d /home/lease/rekindle/runs/pt_ddp-*/").splitlines()
    return host.file(path)


def test_its_end_is_recorded_and_no_verdict_is_the_hosts(host, run):
    assert json.loads(host.file(f"{run.path}ended.json").content_string)["exit_status"] == 0
    assert not host.file(f"{run.path}verdict.json").exists


def test_its_folder_is_the_users_alone(run):
    assert run.mode == 0o700


def test_what_torch_leaves_is_in_tmpdir_and_not_in_tmp(host):
    assert "torchelastic" in host.check_output("ls /home/lease/rekindle/tmp")
    assert "torch" not in host.check_output("ls /tmp")
