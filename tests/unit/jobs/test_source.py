# SPDX-License-Identifier: Apache-2.0
"""The options of a job.py are read as its own parser has them, or not at all."""

import pytest
import yaml
from runners.plays import REPOSITORY

from rekindle.jobs.source import Source
from rekindle.trainer import make_parser

JOBS = REPOSITORY / "flare_jobs"


def options_of(folder):
    script = Source(folder, "job.py").script("job.py")
    return script and script.options


def test_the_options_that_every_job_has_are_those_of_its_parser():
    actions = {action.dest for action in make_parser()._actions if action.dest != "help"}
    assert options_of(JOBS / "lightning_ddp") == actions


@pytest.mark.parametrize("job", sorted(path.parent.name for path in JOBS.glob("*/job.yml")))
def test_every_argument_of_our_own_jobs_is_an_option(job):
    job_yml = yaml.safe_load((JOBS / job / "job.yml").read_text())
    assert job_yml.get("arguments", {}).keys() <= options_of(JOBS / job_yml.get("code", job))


def test_a_parser_of_the_job_s_own_has_its_own_options_alone(tmp_path):
    (tmp_path / "job.py").write_text(
        "import argparse\n"
        "parser = argparse.ArgumentParser()\n"
        "group = parser.add_argument_group('more')\n"
        "group.add_argument('-a', '--alpha', '--alpha_too', type=kind_of_mine, choices=range(3))\n"
        "parser.add_argument('--on', action=argparse.BooleanOptionalAction)\n"
        "parser.add_argument('place')\n"
    )
    assert options_of(tmp_path) == {"alpha", "alpha_too", "on"}


@pytest.mark.parametrize(
    "text",
    [
        "args = read_all_myself()",
        "parser = make_parser(); parser.add_argument(NAME)",
        "for name in NAMES: make_parser().add_argument(f'--{name}')",
        "parser = make_parser(); more_options(parser)",
        "more_options(make_parser())",
        "parser = make_parser(); parser.parse_known_args()",
        "parser = ArgumentParser(parents=[others])",
        "parser = ArgumentParser(parents=[make_parser()])",
        "parser = make_parser(); parser.add_subparsers()",
        "parser = make_parser(",
    ],
)
def test_where_only_running_it_would_show_them_none_is_known(tmp_path, text):
    assert options_of(tmp_path) is None
    (tmp_path / "job.py").write_text(text)
    assert options_of(tmp_path) is None
