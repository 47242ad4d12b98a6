"""A job's options are read from its job.py as its own parser has them, or not at all."""

import shutil

import pytest
import yaml
from plays import REPOSITORY

from rekindle.settings.options import Option, options
from rekindle.trainer import job_options

JOBS = REPOSITORY / "flare_jobs"


def test_the_options_that_every_job_has_are_those_of_its_parser():
    found = options(JOBS / "lightning_ddp" / "job.py")
    actions = {action.dest: action for action in job_options()._actions if action.dest != "help"}
    assert found.keys() == actions.keys()
    assert {name for name, option in found.items() if option.kind == "int"} == {
        name for name, action in actions.items() if action.type is int
    }
    assert {name for name, option in found.items() if option.shape == "many"} == {"client_ids"}


def test_kinds_choices_and_flags_are_read_also_where_another_file_names_them():
    found = options(JOBS / "llm_sft" / "job.py")
    assert found["batch_size"] == Option("one", "int")
    assert found["learning_rate"] == Option("one", "float")
    assert found["tensor_stream"] == Option("flag")
    assert found["message_mode"].choices == ("numpy", "tensor")
    assert found["use_tracking"] == Option("many", "", ("tensorboard", "mlflow", "mlflow_client", "wandb"))
    assert options(JOBS / "pt_ddp" / "job.py")["dataset"].choices == ("digits", "cifar10", "generated")


@pytest.mark.parametrize("job", sorted(path.parent.name for path in JOBS.glob("*/job.yml")))
def test_every_argument_of_our_own_jobs_is_an_option(job):
    said = yaml.safe_load((JOBS / job / "job.yml").read_text())
    assert said.get("arguments", {}).keys() <= options(JOBS / said.get("code", job) / "job.py").keys()


def _read(tmp_path, *lines):
    (tmp_path / "job.py").write_text("\n".join(lines))
    return options(tmp_path / "job.py")


def test_a_parser_of_the_job_s_own_has_its_own_options_alone(tmp_path):
    found = _read(
        tmp_path,
        "import argparse",
        "parser = argparse.ArgumentParser()",
        "group = parser.add_argument_group('more')",
        "group.add_argument('-a', '--alpha', '--alpha_too', type=kind_of_mine, choices=range(3))",
        "parser.add_argument('--on', action=argparse.BooleanOptionalAction)",
        "parser.add_argument('--maybe', nargs='?')",
        "parser.add_argument('--more', action='append')",
        "parser.add_argument('place')",
    )
    assert found == {
        "alpha": Option("one", "kind_of_mine"),
        "alpha_too": Option("one", "kind_of_mine"),
        "on": Option("flag"),
        "maybe": Option("any"),
        "more": Option("any"),
    }


@pytest.mark.parametrize(
    "lines",
    [
        ["args = read_all_myself()"],
        ["parser = job_options()", "parser.add_argument(NAME)"],
        ["for name in NAMES:", "    job_options().add_argument(f'--{name}')"],
        ["parser = job_options()", "more_options(parser)"],
        ["more_options(job_options())"],
        ["parser = job_options()", "parser.parse_known_args()"],
        ["parser = ArgumentParser(parents=[others])"],
        ["parser = ArgumentParser(parents=[job_options()])"],
        ["parser = job_options()", "parser.add_subparsers()"],
        ["parser = job_options("],
    ],
    ids=str,
)
def test_where_only_running_it_would_tell_nothing_is_told(tmp_path, lines):
    assert _read(tmp_path, *lines) is None


def test_a_job_without_its_file_tells_nothing(tmp_path):
    assert options(tmp_path / "job.py") is None


def test_choices_that_cannot_be_found_are_not_held(tmp_path):
    shutil.copy(JOBS / "pt_ddp" / "job.py", tmp_path)  # and not its model.py, which names them
    assert options(tmp_path / "job.py")["dataset"] == Option()
