# SPDX-License-Identifier: Apache-2.0
"""Each mistake in a host's settings is one sentence with the setting's name, and the fix."""

import json
import shutil

import pytest
import yaml
from runners.plays import REPOSITORY

from rekindle.records.plan import FRAMEWORKS
from rekindle.settings.mistakes import find_mistakes
from rekindle.settings.play import read_specifications
from rekindle.settings.values import UnknownValue
from rekindle.solver.catalogue import load_rules

JOBS = REPOSITORY / "flare_jobs"
SPECS = read_specifications(REPOSITORY)
OWN = REPOSITORY / "tests/lookalikes/own/fitted_line"


def complaints(values, *stages, variables=None, jobs=JOBS):
    found = find_mistakes({**values, **(variables or {})}, values, SPECS, jobs, stages)
    return [str(mistake) for mistake in found]


def test_a_list_that_is_typed_as_json_is_a_list():
    for text in ('["pt_ddp","llm_sft"]', "[pt_ddp, llm_sft]", "pt_ddp,llm_sft"):
        assert complaints({"rekindle_jobs": text}) == []
    (found,) = complaints({"rekindle_jobs": '["pt_ddp","nothing"]'})
    assert found.startswith("rekindle_jobs names 'nothing', ")


def names(values, *stages, **more):
    """Return the first word of each mistake, which is its setting."""
    return [line.split()[0] for line in complaints(values, *stages, **more)]


def test_what_can_work_is_no_mistake():
    assert complaints({}) == []
    assert complaints({"rekindle_jobs": ["acceptance"]}) == []  # nothing but that
    values = yaml.safe_load(
        """
        rekindle_root: ~/rekindle
        rekindle_tmpdir: /tmp/x
        rekindle_gpus_required: "no"
        rekindle_min_free_gb: "1.5"
        rekindle_jobs: pt_ddp,llm_sft
        rekindle_job_arguments:
          llm_sft: {batch_size: 2, learning_rate: 1, train_mode: PEFT, use_tracking: [mlflow, wandb],
            tensor_stream: true, data_path: /data, wandb_project: 5, lr_scheduler: false}
          pt_ddp: {dataset: cifar10, batch_size: "8"}
        rekindle_lease_ends: 2026-11-21T18:00
        rekindle_budget: 1h30m
        rekindle_max_age: 20h
        rekindle_frameworks: [tensorflow]
        rekindle_pins: torch=2.11.0+cu130
        rekindle_wheelhouse: ""
        rekindle_capsule: ""
        rekindle_results: results/x
        """
    )
    assert complaints(values, "preflight", "plan", "environments", "validate") == []


WRONG = yaml.safe_load(
    """
    rekindle_rooot: [/x]
    rekindle_of_mine: [1]
    rekindle_gpus_required: [maybe]
    rekindle_gpus: [[-1], all]
    rekindle_federation_port: [80000]
    rekindle_min_free_gb: [much, "nan"]
    rekindle_jobs: [{a: 1}, [pt_ddp, [a]], [], [pt_dpp]]
    rekindle_pins: [true, {jax: "0.4"}, {torch: 2.11}, {tensorflow: 2.21.1}]
    rekindle_budget: [null, 45, 9999999999h]
    rekindle_max_age: [1 day]
    rekindle_lease_ends: [soon]
    rekindle_root: [data]
    rekindle_tmpdir: [/a b]
    rekindle_wheelhouse: [$HOME]
    rekindle_capsule: [/nowhere/at/all, ~nobody-of-that-name/x]
    rekindle_frameworks: [[tensrflow]]
    rekindle_nvflare: [2.9]
    rekindle_accept: [fast]
    rekindle_accept_gate: [hosts]
    """
)
LONG = {
    "rekindle_capsule": [["a"] * 100, "/" + "x" * 300],
    "rekindle_jobs": [
        UnknownValue("'x' is undefined"),
        UnknownValue("Syntax error in template: unexpected '}'"),
    ],
    "rekindle_root": ["/data/" + "r" * 256],
}
ARGUMENTS = [
    {"llm_sfd": {}},
    {"llm_sft": 5},
    {"pt_ddp": {"quality": 2}},
    *(
        {"llm_sft": {name: value}}
        for name, value in (
            ("local_epoc", 2),
            ("num_rounds", 2),
            ("batch_size", {"a": 1}),
        )
    ),
]


SIZES = [
    {"llm_peft": {"rounds": 2}},
    {"pt_ddp": 20},
    {"pt_ddp": {"round": 20}},
    {"pt_ddp": {"rounds": 0}},
    {"pt_ddp": {"rounds": "many"}},
    {"examples/kaplan-meier": {"rounds": 2}},
]


@pytest.mark.parametrize("name", [*WRONG, "long", "arguments", "sizes"])
def test_a_mistake_is_one_sentence_and_its_fix(golden, name):
    cases = [{name: value} for value in WRONG.get(name, ())]
    if name == "long":
        cases = [{setting: value} for setting, values in LONG.items() for value in values]
    if name == "arguments":
        cases = [{"rekindle_jobs": ["pt_ddp", "llm_sft"], "rekindle_job_arguments": it} for it in ARGUMENTS]
    if name == "sizes":
        asked = ["pt_ddp", "examples/kaplan-meier"]
        cases = [{"rekindle_jobs": asked, "rekindle_job_sizes": it} for it in SIZES]
    lines = [complaints(values) for values in cases]
    assert [len(found) for found in lines] == [1] * len(cases)
    golden(*(line for (line,) in lines))


@pytest.mark.parametrize("name", [name for name, spec in SPECS.items() if "choices" in spec])
def test_every_setting_with_choices_is_one_of_them(name):
    assert not any(complaints({name: choice}) for choice in SPECS[name]["choices"])
    assert names({name: "another"}) == [name]


def test_yaml_s_off_is_a_choice_too():
    assert complaints({"rekindle_accept_gate": False}) == []


def test_the_choices_are_those_that_the_catalogue_has():
    assert SPECS["rekindle_nvflare"]["choices"] == list(load_rules().nvflare.releases)
    assert SPECS["rekindle_frameworks"]["choices"] == list(FRAMEWORKS)


def test_the_name_is_the_one_that_was_given():
    values = {"rekindle_lease_ends": "soon", "rekindle_stop": "maybe"}
    assert names(values, variables={"lease_ends": "soon", "stop": "maybe"}) == ["stop", "lease_ends"]


def test_a_host_s_own_torch_has_any_version():
    pins = {"rekindle_pins": {"torch": "2.5.1", "tensorflow": "1.0"}}
    assert len(complaints(pins)) == 2
    assert len(complaints({**pins, "rekindle_system_site": True})) == 1


def test_a_tmpdir_in_a_bad_root_is_not_reported_again():
    inside = {"rekindle_tmpdir": "{{ rekindle_root }}/tmp"}
    values = {"rekindle_root": "a b", "rekindle_tmpdir": "a b/tmp"}
    assert len(complaints(values)) == 2
    for root in ("a b", UnknownValue("'x' is undefined")):
        values = {"rekindle_root": root, "rekindle_tmpdir": root}
        assert names(values, variables=inside) == ["rekindle_root"]


@pytest.mark.parametrize(
    ("file", "text"), [("job.yml", "schema: rekindle/job/1\n"), ("job.py", "from mine import parser\n")]
)
def test_a_broken_job_is_named_and_one_without_a_parser_takes_what_any_option_can_be(
    golden, tmp_path, file, text
):
    jobs = shutil.copytree(JOBS, tmp_path / "flare_jobs")
    (jobs / "pt_ddp" / file).write_text(text)
    given = {"x": "y", "local_epoch": "two", "z": None}
    values = {"rekindle_jobs": ["pt_ddp"], "rekindle_job_arguments": {"pt_ddp": given}}
    golden(*complaints(values, jobs=jobs))


def test_a_folder_that_is_no_capsule_or_lacks_a_lock_is_named(golden, tmp_path, recordings):
    values = {"rekindle_capsule": str(tmp_path / "capsule")}
    (tmp_path / "capsule").mkdir()
    empty = complaints({"rekindle_capsule": str(tmp_path / "capsul")}) + complaints(values)
    env = json.loads((recordings / "h200-x2" / "env.json").read_text())
    (tmp_path / "capsule" / "env.json").write_text(json.dumps(env))
    assert complaints(values) == []
    torch = next(environment for environment in env["environments"] if environment["framework"] == "torch")
    torch["lock_sha256"] = "0" * 64
    (tmp_path / "capsule" / "env.json").write_text(json.dumps(env))
    golden(*empty, *complaints(values))


def test_a_wheelhouse_is_held_to_being_one_where_anything_is_built(golden, tmp_path):
    values = {"rekindle_wheelhouse": str(tmp_path)}
    assert complaints(values, "preflight", "plan") == []
    none = {"rekindle_wheelhouse": f"{tmp_path}/no"}
    golden(*complaints(values, "environments"), *complaints(none, "environments"))
    (tmp_path / "0123456789ab").mkdir()
    assert complaints(values, "environments") == []


def test_a_login_node_is_held_to_what_it_is_in_the_federation_of_a_play_of_one():
    asked = {"partition": "gpu", "nodes": 2, "time": "01:00:00"}
    values = {"rekindle_slurm": asked, "rekindle_federation_jobs": ["pt_ddp"]}
    for group, mistaken in (("flare_sites", True), ("flare_server", True), ("others", False)):
        site = {"variables": {"group_names": [group]}}
        assert names(values, "federate", **site) == ["rekindle_slurm"] * mistaken
        assert names(values, "validate", **site) == []


def test_the_end_of_a_lease_is_held_to_what_it_reads_alone():
    values = {"rekindle_jobs": [], "rekindle_pins": 5, "rekindle_capsule": "/nowhere"}
    assert len(complaints(values)) == 3
    assert complaints(values, "retire") == []
    assert len(complaints({**values, "rekindle_root": "a b", "rekindle_stop": "x"}, "retire")) == 2


def test_the_gpus_that_are_measured_are_no_option(golden):
    values = {"rekindle_accept": "short", "rekindle_job_arguments": {"acceptance": {"gpu": "[cpu]"}}}
    golden(*complaints(values))


def test_jobs_of_the_users_own(golden, monkeypatch, tmp_path):
    paths = [str(shutil.copytree(OWN, tmp_path / name) / "job.yml") for name in ("line", "b/line", "broken")]
    own, second, broken = paths
    jobs = ["pt_ddp", own]
    assert complaints({"rekindle_jobs": jobs, "rekindle_job_arguments": {"line": {"rate": 0.2}}}) == []
    (tmp_path / "broken" / "job.py").unlink()
    monkeypatch.chdir(tmp_path)
    golden(
        *complaints({"rekindle_jobs": jobs, "rekindle_job_arguments": {"lines": {"rate": 0.2}}}),
        *complaints({"rekindle_jobs": jobs, "rekindle_job_arguments": {"line": {"nosuch": 1}}}),
        *complaints({"rekindle_jobs": [own, second, own]}),
        *complaints({"rekindle_jobs": [broken]}),
        *complaints({"rekindle_jobs": ["line"]}),  # without its job.yml
    )


def test_a_job_for_another_nvflare_is_told_so(golden, tmp_path):
    job = tmp_path / "job.py"
    job.write_text("from nvflare.app_common.hub.hub_executor import HubExecutor\nSimEnv(num_clients=2)\n")
    values = {"rekindle_jobs": [str(job)]}
    assert complaints(values) == []
    golden(*complaints({**values, "rekindle_nvflare": "2.9.0"}))


EXAMPLE = "examples/hello-numpy"


@pytest.mark.parametrize("asked", [EXAMPLE, "examples/all"])
def test_an_examples_options_are_held_to_its_parser_in_the_checkout(golden, asked, tmp_path):
    checkout = shutil.copytree(REPOSITORY / "tests/lookalikes/examples", tmp_path / "examples").parent
    lines = []
    for given in ({"step": 0.5}, {"steps": 0.5}, {"num_rounds": 9}):
        values = {"rekindle_jobs": [asked], "rekindle_job_arguments": {EXAMPLE: given}}
        values["rekindle_nvflare_checkout"] = str(checkout)
        lines += [line for line in complaints(values) if "rekindle_job_arguments" in line]
    assert len(lines) == 2
    golden(*lines)


def test_of_a_checkout_that_is_not_here_yet_no_parser_is_known():
    values = {"rekindle_jobs": [EXAMPLE], "rekindle_job_arguments": {EXAMPLE: {"nobody_knows": 1}}}
    assert complaints(values) == []


def test_norms_are_read_before_anything_is_done(tmp_path):
    (tmp_path / "norms.json").write_text('{"gpus": {}, "norms": []}')
    assert complaints({"rekindle_norms": str(tmp_path / "norms.json")}) == []
    (tmp_path / "norms.json").write_text('{"gpus": {}, "norms": [1]}')
    for name, why in (("norms.json", "norms.json is not a valid Norms: "), ("x", "rekindle_norms: ")):
        (found,) = complaints({"rekindle_norms": str(tmp_path / name)})
        assert why in found
        assert " Fix: " in found
