# SPDX-License-Identifier: Apache-2.0
"""What in a job's files cannot work is told before anything starts: where it runs, and for which NVFlare."""

import textwrap

import pytest
from runners.plays import REPOSITORY

from rekindle.jobs import find_job_flaws, read_own, refuse_unread
from rekindle.jobs.obstacles import find_moved_names
from rekindle.records import RecordError

JOBS = REPOSITORY / "flare_jobs"
OLD = """
from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
try:
    from nvflare.app_common.executors.launcher_executor import LauncherExecutor
except ImportError:
    LauncherExecutor = None
recipe = FedAvgRecipe(initial_model=Net(), num_rounds=2, min_clients=2)
""".strip()
EXECUTOR = '{"executor": {"path": "nvflare.app_common.executors.launcher_executor.LauncherExecutor"}}'


@pytest.fixture
def job(tmp_path):
    def written(text):
        (tmp_path / "job.py").write_text(text)
        return read_own(JOBS, tmp_path)

    return written


def test_a_job_that_starts_a_federation_elsewhere_is_refused(golden, job):
    texts = []
    for call in ("PocEnv(num_clients=3)", "ProdEnv(startup_kit_location='x')"):
        with pytest.raises(RecordError) as error:
            job(f"from nvflare.recipe import {call.partition('(')[0]}\n\nrecipe.execute({call})\n")
        texts.append(str(error.value))
    golden(*texts)


def test_one_that_can_also_be_simulated_is_not(job):
    assert job("env = PocEnv() if args.poc else SimEnv(num_clients=2)").job.sites == 2


def test_what_a_release_lacks_is_named_with_its_line(golden, job, tmp_path):
    assert list(find_moved_names(job("import nvflare.app_common.hub.hub_executor").source, "2.9.0"))
    own = job(OLD)
    golden(*(str(one) for one in find_moved_names(own.source, "2.9.0")))
    assert list(find_moved_names(own.source, "2.7.1")) == []
    for part in ("server", "client"):
        (tmp_path / "app" / "config").mkdir(parents=True, exist_ok=True)
        (tmp_path / "app" / "config" / f"config_fed_{part}.json").write_text(EXECUTOR)
    (tmp_path / "job.py").unlink()
    (tmp_path / "meta.json").write_text('{"deploy_map": {"app": ["@ALL"]}}')
    found = [str(one) for one in find_moved_names(read_own(JOBS, tmp_path).source, "2.9.0")]
    assert found[0].startswith(
        f"{tmp_path}/app/config/config_fed_client.json: This job is for an NVFlare older than 2.9.0"
    )


REQUIRED = """
from argparse import REMAINDER, ArgumentParser, BooleanOptionalAction
parser = ArgumentParser()
parser.add_argument("-d", "--data", required=True)
parser.add_argument("cohort")
parser.add_argument("extra", nargs="?")
parser.add_argument("rest", nargs=REMAINDER)
parser.add_argument("--epochs", type=int)
parser.add_argument("--dry", action=BooleanOptionalAction)
args = parser.parse_args()
""".lstrip()


def obstacles(own, *given):
    return [str(one) for one in find_job_flaws(own.source, own.job, "2.7.3", given)]


def test_an_option_that_a_script_requires_is_named_with_its_line(golden, job):
    golden(*obstacles(job(REQUIRED)))


@pytest.mark.parametrize("words", ["-d /data adults", "--dat=/data adults", "adults --data /data --no-dry"])
def test_a_command_that_gives_all_has_none_missing(job, tmp_path, words):
    (tmp_path / "job.yml").write_text(f"example: {{command: [job.py, {', '.join(words.split())}]}}\n")
    assert obstacles(job(REQUIRED)) == []


def test_what_an_inventory_gives_is_not_missing(job):
    own = job(REQUIRED.replace('parser.add_argument("cohort")', ""))
    assert obstacles(own, "data") == []
    assert len(obstacles(own, "epochs")) == 1


def test_an_option_that_a_script_does_not_know_is_named_with_the_near_one(golden, job, tmp_path):
    (tmp_path / "job.yml").write_text(
        "example: {command: [job.py, adults, -d, x, --epoch=2, --ephocs, '3']}\narguments: {batch: 4}\n"
    )
    golden(*obstacles(job(REQUIRED)))


def test_a_script_whose_options_only_a_run_shows_has_none_wrong(job, tmp_path):
    (tmp_path / "job.yml").write_text("example: {command: [job.py, --colour, red]}\n")
    assert obstacles(job(REQUIRED.replace("parse_args", "parse_known_args"))) == []


def test_a_script_that_no_host_would_have_is_named_with_its_line(golden, job, tmp_path):
    (tmp_path / "client.py").symlink_to("/etc/hostname")
    (tmp_path / "other.py").touch()
    text = """
    from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
    FedAvgRecipe(train_script="client.py", num_rounds=2, min_clients=2)
    FedAvgRecipe(train_script="other.py", name="made_by_another.py")
    FedAvgRecipe(train_script="trainer.py")
    FedAvgRecipe(train_script="/data/there.py")
    Path("made.py").write_text("import nvflare")
    FedAvgRecipe(train_script="made.py")
    """
    golden(*obstacles(job(textwrap.dedent(text))))


@pytest.mark.parametrize(("python", "refused"), [("3.8.1", True), ("3.9.2+", True), ("3.99.0rc1", False)])
@pytest.mark.parametrize("file", ["job.py", "client.py"])
def test_a_script_that_is_no_python_is_refused_unless_the_host_s_is_newer(
    job, tmp_path, python, refused, file
):
    (tmp_path / "client.py").touch()
    own = job("from nvflare.recipe import FedAvgRecipe\nFedAvgRecipe(train_script='client.py')\n")
    assert refuse_unread(own.source, python) is None
    (tmp_path / file).write_text("print('client')\ndef train(:\n")
    found = refuse_unread(read_own(JOBS, tmp_path).source, python)
    assert (found is not None) == refused
    assert not found or str(found).startswith(f"{tmp_path}/{file}:2 is no Python")


@pytest.mark.parametrize(
    "text", ['parser.parse_args(["--data", "x", "adults"])', "parser.parse_args(args=[])"]
)
def test_a_script_that_gives_its_options_itself_lacks_none(job, text):
    assert obstacles(job(REQUIRED.replace("parser.parse_args()", text))) == []


def test_a_long_text_that_ends_like_a_script_is_none(job):
    assert obstacles(job(f'"""{"Trains well. " * 40}See client.py"""\n')) == []
