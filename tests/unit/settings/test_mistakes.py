"""Each mistake in a host's settings is one sentence with the setting's name, and the fix."""

import json
import shutil
from pathlib import Path

import pytest
from plays import REPOSITORY

from rekindle.records.plan import FRAMEWORKS
from rekindle.settings.mistake import Unknown
from rekindle.settings.mistakes import mistakes
from rekindle.settings.told import specs
from rekindle.solver.catalogue import rules

JOBS = REPOSITORY / "flare_jobs"
SPECS = specs(REPOSITORY)


def said(values, *stages, variables=None):
    found = mistakes({**values, **(variables or {})}, values, SPECS, JOBS, stages)
    return [str(mistake) for mistake in found]


def test_what_can_work_is_no_mistake():
    assert said({}) == []
    values = {
        "rekindle_root": "~/rekindle",
        "rekindle_tmpdir": "/tmp/x",
        "rekindle_gpus_required": "no",
        "rekindle_min_free_gb": "1.5",
        "rekindle_jobs": "pt_ddp,llm_sft",
        "rekindle_job_arguments": {
            "llm_sft": {
                "batch_size": 2,
                "learning_rate": 1,
                "train_mode": "PEFT",
                "use_tracking": ["mlflow", "wandb"],
                "tensor_stream": True,
                "data_path": "/data",
                "wandb_project": 5,
                "lr_scheduler": False,
            },
            "pt_ddp": {"dataset": "cifar10", "batch_size": "8"},
        },
        "rekindle_lease_ends": "2026-11-21T18:00",
        "rekindle_budget": "1h30m",
        "rekindle_frameworks": ["tensorflow"],
        "rekindle_pins": "torch=2.11.0+cu130",
        "rekindle_wheelhouse": "",
        "rekindle_capsule": "",
        "rekindle_results": "results/x",
    }
    assert said(values, "preflight", "plan", "environments", "validate") == []


def _job(arguments):
    return {"rekindle_jobs": ["pt_ddp", "llm_sft"], "rekindle_job_arguments": arguments}


NOT_A_TIME = "is not a time. Fix: write it as 2026-11-21T18:00, or with a zone."
ARGUMENT = "rekindle_job_arguments gives llm_sft"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            {"rekindle_rooot": "/x"},
            "rekindle_rooot is set, which is not a setting. Fix: write rekindle_root (see roles/settings).",
        ),
        (
            {"rekindle_of_mine": 1},
            "rekindle_of_mine is set, which is not a setting. Fix: remove it (see roles/settings).",
        ),
        (
            {"rekindle_gpus_required": "maybe"},
            "rekindle_gpus_required is 'maybe', and has to be true or false. Fix: write true or false.",
        ),
        (
            {"rekindle_min_free_gb": "much"},
            "rekindle_min_free_gb is 'much', and has to be a number. Fix: write a number, such as 20.",
        ),
        (
            {"rekindle_min_free_gb": "nan"},
            "rekindle_min_free_gb is nan, and no disk has that free. Fix: write a number, such as 20.",
        ),
        (
            {"rekindle_jobs": {"a": 1}},
            "rekindle_jobs is the mapping {'a': 1}, and has to be a list. Fix: write it as [one, two].",
        ),
        (
            {"rekindle_jobs": ["pt_ddp", ["a"]]},
            "rekindle_jobs has the list ['a'] in it, and takes texts. Fix: write it as [one, two].",
        ),
        (
            {"rekindle_pins": True},
            "rekindle_pins is true, and has to be a mapping. Fix: write it as {name: value}.",
        ),
        (
            {"rekindle_budget": None},
            "rekindle_budget is nothing, and has to be a text. Fix: write a text, in quotes.",
        ),
        (
            {"rekindle_capsule": ["a"] * 100},
            f"rekindle_capsule is {('the list ' + str(['a'] * 100))[:100]}…, and has to be a text. "
            "Fix: write a text, in quotes.",
        ),
        (
            {"rekindle_jobs": Unknown("'x' is undefined")},
            "rekindle_jobs cannot be told: 'x' is undefined. "
            "Fix: define what it refers to, or write a value.",
        ),
        ({"rekindle_root": "data"}, "rekindle_root is 'data', a relative path. Fix: begin it with / or ~/."),
        (
            {"rekindle_tmpdir": "/a b"},
            "rekindle_tmpdir is '/a b', and no path may have white space in it. Fix: name another.",
        ),
        (
            {"rekindle_wheelhouse": "$HOME"},
            "rekindle_wheelhouse is '$HOME', which sftp or Ansible would read more into. Fix: name another.",
        ),
        (
            {"rekindle_jobs": []},
            "rekindle_jobs is empty, and nothing would be proven. Fix: name lightning_ddp or llm_peft or "
            "llm_sft or pt_ddp or tensor_stream or tf_mirrored.",
        ),
        (
            {"rekindle_jobs": ["pt_dpp"]},
            "rekindle_jobs names 'pt_dpp', and there is no such job in flare_jobs/. Fix: write pt_ddp.",
        ),
        (
            _job({"llm_sfd": {}}),
            "rekindle_job_arguments has options for llm_sfd, which is not in rekindle_jobs. "
            "Fix: write llm_sft.",
        ),
        (
            _job({"llm_sft": 5}),
            "rekindle_job_arguments has 5 for llm_sft, and takes a mapping. "
            "Fix: write it as {llm_sft: {local_epoch: 2}}.",
        ),
        (
            _job({"llm_sft": {"local_epoc": 2}}),
            f"{ARGUMENT} local_epoc, which its job.py does not know. Fix: write local_epoch.",
        ),
        (
            _job({"pt_ddp": {"quality": 2}}),
            "rekindle_job_arguments gives pt_ddp quality, which its job.py does not know. "
            "Fix: name one of local_epoch, dataset, data_path, batch_size, width.",
        ),
        (
            _job({"llm_sft": {"num_rounds": 2}}),
            f"{ARGUMENT} num_rounds, which Rekindle itself sets. "
            "Fix: leave it out; job.yml has sites and rounds.",
        ),
        (
            _job({"llm_sft": {"batch_size": 2.5}}),
            f"{ARGUMENT} batch_size as 2.5, and its job.py takes a whole number. Fix: write a whole number.",
        ),
        (
            _job({"llm_sft": {"learning_rate": "fast"}}),
            f"{ARGUMENT} learning_rate as 'fast', and its job.py takes a number. Fix: write a number.",
        ),
        (
            _job({"llm_sft": {"train_mode": "sft"}}),
            f"{ARGUMENT} train_mode as 'sft', which is none of its choices. Fix: write SFT.",
        ),
        (
            _job({"llm_sft": {"use_tracking": ["wandb", "x"]}}),
            f"{ARGUMENT} use_tracking as the list ['wandb', 'x'], which is none of its choices. "
            "Fix: name one of tensorboard, mlflow, mlflow_client, wandb.",
        ),
        (
            _job({"llm_sft": {"tensor_stream": "on"}}),
            f"{ARGUMENT} tensor_stream as 'on', which is a flag. Fix: write true or false.",
        ),
        (
            _job({"llm_sft": {"batch_size": True}}),
            f"{ARGUMENT} batch_size as true, which is not a flag. Fix: write its value.",
        ),
        (
            _job({"llm_sft": {"batch_size": [1, 2]}}),
            f"{ARGUMENT} batch_size as the list [1, 2], which takes one value. Fix: write one.",
        ),
        (
            _job({"llm_sft": {"batch_size": {"a": 1}}}),
            f"{ARGUMENT} batch_size as the mapping {{'a': 1}}, which no option can be. "
            "Fix: write a text, a number, true, or a list of texts.",
        ),
        ({"rekindle_lease_ends": "soon"}, f"rekindle_lease_ends 'soon' {NOT_A_TIME}"),
        (
            {"rekindle_budget": 45},
            "rekindle_budget '45' is not a length of time. Fix: write it as 45m, 1h30m or 90s.",
        ),
        (
            {"rekindle_budget": "9999999999h"},
            "rekindle_budget '9999999999h' is not a length of time. Fix: write it as 45m, 1h30m or 90s.",
        ),
        (
            {"rekindle_capsule": "~nobody-of-that-name/x"},
            "rekindle_capsule is '~nobody-of-that-name/x', and "
            f"{Path('~nobody-of-that-name/x').absolute()} is not a folder here. Fix: name one that is.",
        ),
        (
            {"rekindle_capsule": "/" + "x" * 300},
            f"rekindle_capsule is '/{'x' * 300}', and /{'x' * 300} is not a folder here. "
            "Fix: name one that is.",
        ),
        (
            {"rekindle_frameworks": ["tensrflow"]},
            "rekindle_frameworks has 'tensrflow' in it, which is not one of its choices. "
            "Fix: write tensorflow.",
        ),
        (
            {"rekindle_nvflare": 2.9},
            "rekindle_nvflare is '2.9', which is not one of its choices. Fix: write 2.9.0.",
        ),
        (
            {"rekindle_accept_gate": "hosts"},
            "rekindle_accept_gate is 'hosts', which is not one of its choices. Fix: write host.",
        ),
        (
            {"rekindle_accept_gate": False, "rekindle_accept": "fast"},
            "rekindle_accept is 'fast', which is not one of its choices. Fix: name one of short, burn, off.",
        ),
        (
            {"rekindle_pins": {"jax": "0.4"}},
            "rekindle_pins pins 'jax', and there is no such framework. "
            "Fix: name one of torch, lightning, transformers, tensorflow.",
        ),
        (
            {"rekindle_pins": {"torch": 2.11}},
            "rekindle_pins pins torch to 2.11, which is not a text. "
            "Fix: write the version in quotes, such as '2.11.0'.",
        ),
        (
            {"rekindle_pins": {"tensorflow": "2.21.1"}},
            "rekindle_pins pins tensorflow to 2.21.1, and there is no such build. Fix: write 2.21.0.",
        ),
        (
            {"rekindle_capsule": "/nowhere/at/all"},
            "rekindle_capsule is '/nowhere/at/all', and /nowhere/at/all is not a folder here. "
            "Fix: name one that is.",
        ),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else "",
)
def test_a_mistake_is_one_sentence_and_its_fix(values, expected):
    assert said(values) == [expected]


@pytest.mark.parametrize("name", [name for name, spec in SPECS.items() if "choices" in spec])
def test_every_setting_with_choices_is_one_of_them(name):
    for choice in SPECS[name]["choices"]:
        assert said({name: choice}) == []
    (line,) = said({name: "another"})
    assert line.startswith(f"{name} ")
    assert "'another'" in line


def test_the_choices_are_those_that_the_catalogue_has():
    assert SPECS["rekindle_nvflare"]["choices"] == list(rules().nvflare.releases)
    assert SPECS["rekindle_frameworks"]["choices"] == list(FRAMEWORKS)


def test_the_name_is_the_one_that_was_given():
    values = {"rekindle_lease_ends": "soon", "rekindle_stop": "maybe"}
    assert said(values, variables={"lease_ends": "soon", "stop": "maybe"}) == [
        "stop is 'maybe', and has to be true or false. Fix: write true or false.",
        f"lease_ends 'soon' {NOT_A_TIME}",
    ]


def test_a_host_s_own_torch_has_any_version():
    pins = {"rekindle_pins": {"torch": "2.5.1", "tensorflow": "1.0"}}
    assert len(said(pins)) == 2
    assert len(said({**pins, "rekindle_system_site": True})) == 1


def test_a_tmpdir_in_a_bad_root_is_not_said_again():
    inside = {"rekindle_tmpdir": "{{ rekindle_root }}/tmp"}
    values = {"rekindle_root": "a b", "rekindle_tmpdir": "a b/tmp"}
    assert len(said(values)) == 2
    assert len(said(values, variables=inside)) == 1


def test_a_job_yml_that_is_broken_is_named(tmp_path):
    jobs = shutil.copytree(JOBS, tmp_path / "flare_jobs")
    (jobs / "pt_ddp" / "job.yml").write_text("schema: rekindle/job/1\n")
    values = {"rekindle_jobs": ["pt_ddp"], "rekindle_job_arguments": {"pt_ddp": {"x": 1}}}
    (mistake,) = mistakes(values, values, SPECS, jobs)
    assert mistake.says.startswith(f"{jobs}/pt_ddp/job.yml is not ")


def test_a_job_whose_options_cannot_be_read_is_held_to_nothing_but_what_no_option_can_be(tmp_path):
    jobs = shutil.copytree(JOBS, tmp_path / "flare_jobs")
    (jobs / "pt_ddp" / "job.py").write_text("from mine import parser\n")
    given = {"x": "y", "local_epoch": "two", "z": None}
    values = {"rekindle_jobs": ["pt_ddp"], "rekindle_job_arguments": {"pt_ddp": given}}
    (mistake,) = mistakes(values, values, SPECS, jobs)
    assert mistake.says == "rekindle_job_arguments gives pt_ddp z as nothing, which no option can be."


def test_a_folder_that_is_no_capsule_or_lacks_a_lock_is_named(tmp_path, recordings):
    values = {"rekindle_capsule": str(tmp_path / "capsul")}
    (tmp_path / "capsule").mkdir()
    (line,) = said(values)
    assert line.endswith(f"capsul is not a folder here. Fix: write {tmp_path}/capsule.")
    values = {"rekindle_capsule": str(tmp_path / "capsule")}
    (line,) = said(values)
    assert f"which is not a capsule: {tmp_path}/capsule/env.json does not exist. Fix: " in line
    env = json.loads((recordings / "h200-x2" / "env.json").read_text())
    (tmp_path / "capsule" / "env.json").write_text(json.dumps(env))
    assert said(values) == []
    torch = next(environment for environment in env["environments"] if environment["framework"] == "torch")
    torch["lock_sha256"] = "0" * 64
    (tmp_path / "capsule" / "env.json").write_text(json.dumps(env))
    (line,) = said(values)
    assert f"which is not a capsule: No lock {torch['lock']} with digest 000000000000 is in " in line


def test_a_wheelhouse_is_held_to_being_one_where_anything_is_built(tmp_path):
    values = {"rekindle_wheelhouse": str(tmp_path)}
    assert said(values, "preflight", "plan") == []
    assert said(values, "environments") == [
        f"rekindle_wheelhouse is '{tmp_path}', which is not a wheelhouse. "
        f"Fix: fill it by rekindle bundle results/<run>/*/plan.json -o {tmp_path}."
    ]
    (tmp_path / "0123456789ab").mkdir()
    assert said(values, "environments") == []
    values = {"rekindle_wheelhouse": str(tmp_path / "none")}
    (line,) = said(values, "environments")
    assert line.endswith("none is not a folder here. Fix: name one that is.")


def test_the_end_of_a_lease_is_held_to_what_it_reads_alone():
    values = {"rekindle_jobs": [], "rekindle_pins": 5, "rekindle_capsule": "/nowhere"}
    assert len(said(values)) == 3
    assert said(values, "retire") == []
    assert len(said({**values, "rekindle_root": "a b", "rekindle_stop": "x"}, "retire")) == 2


@pytest.fixture
def own(tmp_path):
    """Return what copies a user's job to a folder, and returns the path of its job.yml."""

    def copied(folder):
        shutil.copytree(REPOSITORY / "tests" / "lookalikes" / "own" / "fitted_line", tmp_path / folder)
        return str(tmp_path / folder / "job.yml")

    return copied


def test_jobs_of_the_users_own_can_work_and_have_options_by_name(own):
    jobs = ["pt_ddp", own("line")]
    assert said({"rekindle_jobs": jobs, "rekindle_job_arguments": {"line": {"rate": 0.2}}}) == []
    (line,) = said({"rekindle_jobs": jobs, "rekindle_job_arguments": {"lines": {"rate": 0.2}}})
    assert line.endswith("has options for lines, which is not in rekindle_jobs. Fix: write line.")


def test_of_the_users_own_jobs_no_two_have_a_name(own):
    first, second = own("a/line"), own("b/line")
    assert said({"rekindle_jobs": [first, second, first]}) == [
        f"rekindle_jobs names {first} and {second}, both of a job 'line'. "
        "Fix: write another name: in one of them."
    ]


def test_a_job_of_the_users_that_cannot_work_is_named_with_the_fix(own, monkeypatch, tmp_path):
    path = own("line")
    (tmp_path / "line" / "job.py").unlink()
    (line,) = said({"rekindle_jobs": [path]})
    assert line.startswith(f"{path} runs 'job.py', which is no file in {tmp_path / 'line'}. Fix: ")
    monkeypatch.chdir(tmp_path)
    (line,) = said({"rekindle_jobs": ["line"]})
    assert line.endswith("and there is no such job in flare_jobs/. Fix: write line/job.yml.")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"step": 0.5}, None),
        (
            {"steps": 0.5},
            "gives examples/hello-numpy steps, which its job.py does not know. Fix: write step.",
        ),
        (
            {"step": "far"},
            "gives examples/hello-numpy step as 'far', and its job.py takes a number. Fix: write a number.",
        ),
        (
            {"num_rounds": 9},
            "gives examples/hello-numpy num_rounds, which Rekindle itself sets. "
            "Fix: leave it out; job.yml has sites and rounds.",
        ),
    ],
)
@pytest.mark.parametrize("asked", ["examples/hello-numpy", "examples/all"])
def test_an_examples_options_are_held_to_its_parser_in_the_checkout(given, expected, asked, tmp_path):
    checkout = shutil.copytree(REPOSITORY / "tests/lookalikes/examples", tmp_path / "examples").parent
    values = {
        "rekindle_jobs": [asked],
        "rekindle_job_arguments": {"examples/hello-numpy": given},
        "rekindle_nvflare_checkout": str(checkout),
    }
    told = [mistake for mistake in said(values) if "rekindle_job_arguments" in mistake]
    assert told == ([f"rekindle_job_arguments {expected}"] if expected else [])


def test_of_a_checkout_that_is_not_here_yet_no_parser_is_known():
    values = {
        "rekindle_jobs": ["examples/hello-numpy"],
        "rekindle_job_arguments": {"examples/hello-numpy": {"nobody_knows": 1}},
    }
    assert said(values) == []


def test_a_users_own_job_is_held_to_its_own_parser():
    own = str(REPOSITORY / "tests/lookalikes/own/fitted_line/job.yml")
    (line,) = said({"rekindle_jobs": [own], "rekindle_job_arguments": {"fitted_line": {"nosuch": 1}}})
    assert line.startswith("rekindle_job_arguments gives fitted_line nosuch, which its job.py does not know.")
