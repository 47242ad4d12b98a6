"""A job as it was left on the host."""

import json

RUN = "/home/lease/rekindle/runs/results/pt_ddp"


def test_its_verdict_is_there_and_is_pass(host):
    assert json.loads(host.file(f"{RUN}/verdict.json").content_string)["verdict"] == "PASS"


def test_its_folder_is_the_users_alone(host):
    assert host.file(RUN).mode == 0o700


def test_it_left_nothing_in_tmpdir(host):
    assert host.check_output("ls -A /home/lease/rekindle/tmp | grep -v '^uv-.*[.]lock$' || true") == ""
