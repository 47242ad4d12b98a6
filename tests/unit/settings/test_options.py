# SPDX-License-Identifier: Apache-2.0
"""A job's options are read from its job.py as its own parser has them, or not at all."""

import shutil

import pytest
import yaml
from plays import REPOSITORY

from rekindle.settings.options import Option, parser_options
from rekindle.trainer import job_options

JOBS = REPOSITORY / "flare_jobs"


def test_the_options_that_every_job_has_are_those_of_its_parser():
    found = parser_options(JOBS / "lightning_ddp" / "job.py")
    actions = {action.dest: action for action in job_options()._actions if action.dest != "help"}
    assert found.keys() == actions.keys()
    for name, action in actions.items():
        assert (found[name].kind == "int") is (action.type is int)
        assert found[name].shape == "one"


def test_kinds_choices_and_flags_are_read_also_where_another_file_names_them(tmp_path):
    found = parser_options(JOBS / "llm_sft" / "job.py")
    assert found["batch_size"] == Option("one", "int")
    assert found["learning_rate"] == Option("one", "float")
    assert found["tensor_stream"] == Option("flag")
    assert found["message_mode"].choices == ("numpy", "tensor")
    assert found["use_tracking"] == Option("many", "", ("tensorboard", "mlflow", "mlflow_client", "wandb"))
    assert parser_options(JOBS / "pt_ddp" / "job.py")["dataset"].choices == ("digits", "cifar10", "generated")
    shutil.copy(JOBS / "pt_ddp" / "job.py", tmp_path)  # and not its model.py, which names them
    assert parser_options(tmp_path / "job.py")["dataset"] == Option()


@pytest.mark.parametrize("job", sorted(path.parent.name for path in JOBS.glob("*/job.yml")))
def test_every_argument_of_our_own_jobs_is_an_option(job):
    job_yml = yaml.safe_load((JOBS / job / "job.yml").read_text())
    options = parser_options(JOBS / job_yml.get("code", job) / "job.py")
    assert job_yml.get("arguments", {}).keys() <= options.keys()


def test_a_parser_of_the_job_s_own_has_its_own_options_alone(tmp_path):
    (tmp_path / "job.py").write_text(
        "import argparse\n"
        "parser = argparse.ArgumentParser()\n"
        "group = parser.add_argument_group('more')\n"
        "group.add_argument('-a', '--alpha', '--alpha_too', type=kind_of_mine, choices=range(3))\n"
        "parser.add_argument('--on', action=argparse.BooleanOptionalAction)\n"
        "parser.add_argument('--maybe', nargs='?')\n"
        "parser.add_argument('--more', action='append')\n"
        "parser.add_argument('place')\n"
    )
    assert parser_options(tmp_path / "job.py") == {
        **dict.fromkeys(("alpha", "alpha_too"), Option("one", "kind_of_mine")),
        "on": Option("flag"),
        **dict.fromkeys(("maybe", "more"), Option("any")),
    }


@pytest.mark.parametrize(
    "text",
    [
        "args = read_all_myself()",
        "parser = job_options(); parser.add_argument(NAME)",
        "for name in NAMES: job_options().add_argument(f'--{name}')",
        "parser = job_options(); more_options(parser)",
        "more_options(job_options())",
        "parser = job_options(); parser.parse_known_args()",
        "parser = ArgumentParser(parents=[others])",
        "parser = ArgumentParser(parents=[job_options()])",
        "parser = job_options(); parser.add_subparsers()",
        "parser = job_options(",
    ],
)
def test_where_only_running_it_would_show_them_none_is_known(tmp_path, text):
    assert parser_options(tmp_path / "job.py") is None
    (tmp_path / "job.py").write_text(text)
    assert parser_options(tmp_path / "job.py") is None
