"""A job as it was left on the host."""

import json

RUN = "/home/lease/rekindle/runs/results/pt_ddp"


def test_its_verdict_is_there_and_is_pass(host):
    assert json.loads(host.file(f"{RUN}/verdict.json").content_string)["verdict"] == "PASS"


def test_its_folder_is_the_users_alone(host):
    assert host.file(RUN).mode == 0o700


def test_what_torch_leaves_is_in_tmpdir_and_not_in_tmp(host):
    assert "torchelastic" in host.check_output("ls /home/lease/rekindle/tmp")
    assert "torch" not in host.check_output("ls /tmp")
