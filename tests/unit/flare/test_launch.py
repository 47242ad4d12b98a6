# SPDX-License-Identifier: Apache-2.0
"""What starts a site's trainers without NVFlare."""

import json

import pytest

from rekindle.flare.launch import find_trainers


def _deployed(job, site, components):
    app = job / "workspace/pt_ddp" / site / "simulate_job" / f"app_{site}"
    (app / "config").mkdir(parents=True)
    (app / "config/config_fed_client.json").write_text(json.dumps({"components": components}))
    return app


def test_each_sites_trainers_have_the_words_of_nvflares_command_and_its_folder(tmp_path):
    launcher = {"id": "launcher", "args": {"script": "env A='b c' python -u custom/client.py"}}
    folders = {site: _deployed(tmp_path, site, [{"id": "pipe"}, launcher]) for site in ("site-1", "site-2")}
    found = find_trainers(tmp_path)
    assert {site: trainer.folder for site, trainer in found.items()} == folders
    assert found["site-2"].command == ["env", "A=b c", "python", "-u", "custom/client.py"]


def test_since_nvflare_2_9_the_executor_has_the_command(tmp_path):
    app = _deployed(tmp_path, "site-1", [])
    executor = {"path": "ClientAPIExecutor", "args": {"command": ["env", "A=b c", "python", "client.py"]}}
    config = {"components": [], "executors": [{"tasks": ["*"], "executor": executor}]}
    (app / "config/config_fed_client.json").write_text(json.dumps(config))
    assert find_trainers(tmp_path)["site-1"].command == ["env", "A=b c", "python", "client.py"]


def test_a_job_that_died_before_it_was_deployed_or_trains_inside_nvflares_client_has_none(tmp_path):
    assert find_trainers(tmp_path) == {}
    _deployed(tmp_path, "site-1", [{"id": "pipe"}])
    assert find_trainers(tmp_path) == {}


def test_a_configuration_that_is_not_nvflares_is_no_job_without_trainers(tmp_path):
    app = _deployed(tmp_path, "site-1", [{"id": "launcher", "args": {}}])
    with pytest.raises(KeyError):
        find_trainers(tmp_path)
    (app / "config/config_fed_client.json").write_text("{")
    with pytest.raises(ValueError, match="Expecting"):
        find_trainers(tmp_path)
