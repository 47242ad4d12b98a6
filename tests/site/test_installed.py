# SPDX-License-Identifier: Apache-2.0
"""The wheel in an environment of its own, used from an empty folder: ``rekindle`` without a checkout."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from runners.commands import capture_command
from runners.plays import HANGS_S, REPOSITORY, SMALLEST

from rekindle.host.payload import pack_payload, write_payload
from rekindle.records.layout import env_in
from rekindle.results.comparison import compare_environments


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return the ``rekindle`` of an environment that has the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True, timeout=120)
    uv = [sys.executable, "-m", "rekindle.environments.indexes", Path(sys.executable).with_name("uv"), "pip"]
    pins = ["--constraint", REPOSITORY / "requirements/controller.txt"]
    python = folder / "env/bin/python"
    subprocess.run([*uv, "install", "--quiet", "--python", python, *pins, wheel], check=True, timeout=300)
    return folder / "env/bin/rekindle"


@pytest.fixture
def call(installed, tmp_path):
    """Call it in an empty folder that everybody can write, without anything of the tests' own environment."""
    here = tmp_path / "empty"
    here.mkdir()
    here.chmod(0o777)
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def run(*arguments, program=installed):
        return capture_command(
            [program, *map(str, arguments)],
            cwd=here,
            env={**kept, "PATH": "/usr/local/bin:/usr/bin:/bin", "ANSIBLE_NOCOLOR": "1"},
            timeout=HANGS_S,
        )

    run.here, run.program = here, installed
    return run


def test_ansible_finds_the_collection_in_any_folder(call):
    ansible = call.program.with_name("ansible-playbook")
    done = call("rekindle.flare.site", "-i", "h,", "--list-tasks", program=ansible)
    assert done.returncode == 0, done.stderr
    assert "rekindle.flare.validate : " in done.stdout


def test_from_a_capsule_the_local_inventory_passes_in_the_same_environments_and_is_retired(
    call, host_records, local, tmp_path, tmp_path_factory
):
    inventory, root = tmp_path / "hosts.yml", tmp_path_factory.mktemp("h") / "r"
    inventory.write_text(local.read_text().replace(str(local.parent / "rekindle"), str(root)))
    more = json.dumps({"rekindle_capsule": str(host_records), "rekindle_job_sizes": {"pt_ddp": SMALLEST}})
    done = call("site", "-i", inventory, "--json", "-e", more)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert [(row["job"], row["verdict"]) for row in answer["rows"]] == [("pt_ddp", "PASS")]
    (run,) = (call.here / "results").glob("2*")
    assert answer["run"] == run.name
    assert root.exists()
    assert list(compare_environments(env_in(host_records), env_in(run / "local"))) == []
    for verb in ("judge", "report", "verify"):
        again = call(verb, run)
        assert again.returncode == 0, again.stdout + again.stderr
        assert "PASS" in again.stdout
    retired = call("retire", "-i", inventory, "-e", f"rekindle_results={run}")
    assert retired.returncode == 0, retired.stdout + retired.stderr
    assert not root.exists()
    assert {path.name for path in call.here.iterdir()} == {"results"}


def test_what_travels_to_a_host_is_what_a_checkout_sends(installed, tmp_path):
    (folder,) = installed.parents[1].glob(
        "lib/python*/site-packages/ansible_collections/rekindle/flare/flare_jobs"
    )
    program = (
        "import sys; from pathlib import Path; from rekindle.host.payload import pack_payload, write_payload;"
        "print(write_payload(pack_payload(Path(sys.argv[1])), Path(sys.argv[2])).name)"
    )
    command = [installed.with_name("python"), "-I", "-c", program, folder, tmp_path / "wheel"]
    done = capture_command(command, check=True, timeout=60)
    assert (
        done.stdout.strip()
        == write_payload(pack_payload(REPOSITORY / "flare_jobs"), tmp_path / "checkout").name
    )


def test_without_an_inventory_it_does_nothing(call):
    done = call("site", "--list-hosts")
    assert (done.returncode, done.stdout) == (2, "")
    assert "-i" in done.stderr


@pytest.mark.parametrize(("arguments", "status"), [(("--version",), 0), (("judge", "."), 2), (("sight",), 2)])
def test_it_answers_as_in_a_checkout(call, arguments, status):
    assert call(*arguments).returncode == status
