# SPDX-License-Identifier: Apache-2.0
"""What a job without job.yml says itself: its command, sites, rounds, environment, path and proof."""

import json
import sys

import pytest
from runners.plays import REPOSITORY

from rekindle.jobs import load_job, locate_folder, read_own, resolve_own
from rekindle.jobs.defaults import fill_defaults, read_source
from rekindle.records import RecordError

JOBS = REPOSITORY / "flare_jobs"
RECIPE = """
'''Averages a line.'''
import argparse
from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.recipe import SimEnv

p = argparse.ArgumentParser()
p.add_argument("--n_clients", type=int, default=3)
p.add_argument("-r", "--num-rounds", type=int, default=4)
args = p.parse_args()
recipe = FedAvgRecipe(min_clients=1, num_rounds=args.num_rounds, train_script="client.py")
recipe.execute(SimEnv(num_clients=args.n_clients))
""".strip()
CLIENT = "import torch\nimport nvflare.client as flare\n"
SERVER = {
    "workflows": [{"path": "nvflare.app_common.workflows.scatter_and_gather.ScatterAndGather", "args": {}}],
    "rounds": 7,
    "components": [{"path": "nvflare.app_opt.pt.file_model_persistor.PTFileModelPersistor", "args": {}}],
}
SERVER["workflows"][0]["args"] = {"min_clients": 1, "num_rounds": "{rounds}"}
META = {"min_clients": 2, "deploy_map": {"app": ["@ALL"]}}
TRAINS = ["every_site_trained", "every_site_took_part", "rounds_completed", "global_model_saved"]


def found(path, **given):
    return {name: one.value for name, one in fill_defaults(read_source(path, given), given).items()}


def claims(path):
    return [claim.claim for claim in read_own(JOBS, path).job.proof]


def test_a_recipe_is_run_with_its_own_sizes(project):
    folder = project(job_py=RECIPE, client_py=CLIENT)
    own = read_own(JOBS, folder)
    assert own.job.name == "my_line"
    assert own.job.summary == "Averages a line."
    assert (own.job.sites, own.job.rounds, own.job.environment, own.job.assumed) == (3, 4, "torch", ())
    assert own.job.command == ("job.py", "--n_clients", "{sites}", "--num-rounds", "{rounds}")
    assert [claim.claim for claim in own.job.proof] == TRAINS
    assert own.found["sites"].because == "job.py:7, the default of --n_clients"
    assert load_job(JOBS, f"{folder}/job.py") == load_job(JOBS, f"{folder}/") == own.job
    assert locate_folder(resolve_own(f"{folder}/job.py")) == folder


def test_its_job_yml_comes_first_in_what_it_has(project):
    folder = project(job_py=RECIPE, client_py=CLIENT)
    (folder / "job.yml").write_text("sites: 5\nlimit_s: 60\nexample: {environ: {A: b}}\n")
    own = read_own(JOBS, folder / "job.py")
    assert (own.job.sites, own.job.rounds, own.job.limit_s) == (5, 4, 60)
    assert own.job.example.environ == {"A": "b"}
    assert own.job.command[:2] == ("job.py", "--n_clients")
    assert "limit_s" not in own.found


@pytest.mark.parametrize(
    ("line", "sites"),
    [
        ("SimEnv(clients=['a', 'b', 'c'])", 3),
        ("SimEnv(clients=NAMES)\nNAMES = ['a', 'b', 'c', 'd']", 4),
        ("SimEnv(num_clients=len(NAMES))\nNAMES = ['a', 'b', 'c', 'd']", 4),
        ("SimulatorRunner(job_folder='j', clients='a,b,c').run()", 3),
        ("def main(count=6):\n    job.simulator_run('w', n_clients=count)", 6),
        ("FedAvgJob(n_clients=4, num_rounds=2)", 4),
        ("FedAvgJob(Net(), 4, 2)", 4),
        ("job.simulator_run('w', 4)", 4),
        ("FedJob(min_clients=2)", 2),
        ("FedJob()\njob.to(a, 'site-1')\njob.to(a, 'site-2')\njob.to(a, 'site-3')", 3),
        ("for i in range(4):\n    job.to(x, f'site-{i}')", 4),
        ("for i in range(4):\n    x.to(device)\n    y.to(device, torch.float32)", 2),
        ("N, ROUNDS = 5, 2\nfor i in range(1, N + 1):\n    job.to(x, f'site-{i}')", 5),
        ("for i in range(1, 5):\n    job.to(x, f'site-{i}')", 4),
        ("for i in range(0, 3):\n    job.to(x, f'site-{i}')", 3),
        ("FIRST, N = 2, 6\nfor i in range(FIRST, FIRST + N):\n    job.to(x, f'site-{i}')", 6),
        ("for i in range(1, 9, 2):\n    job.to(x, f'site-{i}')", 2),
        ("def main(first, n):\n    for i in range(first, n):\n        job.to(x, f'site-{i}')", 2),
        ("for i, name in enumerate(NAMES):\n    job.to(x, name)\nNAMES = ['a', 'b', 'c']", 3),
        ("for i in range(4):\n    print(i)", 2),
        ("SimEnv(clients=list(SITES))\nSITES = {'a': {}, 'b': {}, 'c': {}}", 3),
        ("FedAvgRecipe(per_site_config={'a': {}, 'b': {}, 'c': {}})", 3),
        ("filled = {}\nFedAvgRecipe(per_site_config=filled, min_clients=4)", 4),
        ("subprocess.run(['nvflare', 'simulator', 'j', '-n', '5'])", 5),
        ("subprocess.call('nvflare simulator j -w w -n 6 -t 6', shell=True)", 6),
    ],
)
def test_sites_are_counted_where_they_are_started(project, line, sites):
    assert found(project(job_py=line))["sites"] == sites


def test_what_nothing_says_is_assumed_and_said(project):
    folder = project(job_py="from nvflare.recipe import SimEnv\nSimEnv(num_clients=int(open('x').read()))\n")
    own = read_own(JOBS, folder)
    assert own.job.assumed == ("sites", "rounds")
    assert own.found["rounds"].because.startswith("assumed: ")
    (folder / "job.yml").write_text("sites: 2\nrounds: 2\n")
    assert read_own(JOBS, folder).job.assumed == ()


def test_a_script_that_is_no_python_says_where(project):
    read = read_own(JOBS, project(job_py="import nvflare\ndef start(:\n"))
    assert read.job.assumed == ("sites", "rounds")
    assert f"job.py:2 is no Python {sys.version_info[0]}.{sys.version_info[1]}" in read.found["sites"].because


def test_rounds_that_differ_are_not_read(project):
    lines = "FedAvg(num_rounds=2)\nFedAvg(num_rounds=3)\n"
    assert read_own(JOBS, project(job_py=lines)).job.assumed == ("sites", "rounds")


OWN = """
class Own(FedAvg):
    def __init__(self, rounds=2):
        super().__init__(num_rounds=rounds)
"""


@pytest.mark.parametrize(
    ("line", "rounds"),
    [
        ("from own import Own\nOwn(rounds=8)", 8),
        ("from own import Own\ncontroller = Own()\ncontroller.num_rounds = 7", 7),
        ("from own import Own\nOwn()", 2),
        ("from own import Own\nOwn(9)", 9),
        ("FedAvgJob(Net(), int(input()), 7)", 7),
        ("SITES, ROUNDS = 3, 6\nFedAvg(num_rounds=ROUNDS)", 6),
    ],
)
def test_rounds_are_those_of_the_script_that_is_run_before_those_of_its_modules(project, line, rounds):
    own = read_own(JOBS, project(job_py=line, own_py=OWN))
    assert (own.job.rounds, own.job.assumed) == (rounds, ("sites",))


LOOP = """
class Own(ModelController):
    def __init__(self, {parameters}):
        {body}
    def run(self):
        for number in range({count}):
            self.send_model_and_wait(data=number)
"""


@pytest.mark.parametrize(
    ("call", "own", "rounds"),
    [
        ("Own()", ("beta=0.9, rounds=5", "self.rounds = rounds", "self.rounds"), 5),
        ("Own(0.5, 4)", ("beta=0.9, rounds=5", "self.rounds = rounds", "self.rounds"), 4),
        ("Own(2)", ("patience", "self.patience = patience", "11"), 11),
        ("Own()", ("beta=0.9", "self.many = 6", "self.many"), 6),
        ("Own()", ("beta=0.9", "self.many = 6", "self.read()"), None),
    ],
)
def test_rounds_of_an_own_workflow_are_its_arguments_or_those_of_its_loop(project, call, own, rounds):
    parameters, body, count = own
    own_py = LOOP.format(parameters=parameters, body=body, count=count)
    read = read_own(JOBS, project(job_py=f"from own import Own\n{call}", own_py=own_py))
    assert (None if "rounds" in read.job.assumed else read.job.rounds) == rounds


@pytest.mark.parametrize("kind", ["job", "app", "yaml", "hocon"])
def test_a_folder_for_nvflare_is_run_by_its_simulator(project, kind):
    config = "config" if kind == "app" else "app__config"
    server = json.dumps(SERVER)
    files = {
        f"{config}__config_fed_server_json": server,
        f"{config.replace('config', 'custom')}__c_py": CLIENT,
    }
    folder = project(**files, **({} if kind == "app" else {"meta_json": META}))
    path = folder / config.replace("__", "/") / "config_fed_server.json"
    if kind == "yaml":
        path.rename(path.with_suffix(".yml")).write_text(
            "workflows:\n- path: nvflare.x.ScatterAndGather\n  args:\n    num_rounds: 7\n"
            "components:\n- path: nvflare.app_opt.pt.x.P\n"
        )
    if kind == "hocon":
        path.rename(path.with_suffix(".conf")).write_text(
            '# num_rounds = 9\nnum_rounds = 7\nworkflows = [{path = "nvflare.x.ScatterAndGather"\n'
            "args.num_rounds = ${num_rounds}}]\ncomponents [{path = nvflare.app_opt.pt.x.P}]\n"
        )
    own = read_own(JOBS, folder)
    assert own.job.command == ("-m", "rekindle.trainer.simulation", "-t", "{sites}", "-n", "{sites}")
    assert (own.job.rounds, own.job.environment, claims(folder)) == (7, "torch", TRAINS)
    assert own.job.requirements == (("omegaconf",) if kind == "yaml" else None)
    assert own.job.sites == (1 if kind == "app" else 2)


def test_sites_that_a_folder_names_are_not_numbered(project):
    deployed = {
        **META,
        "deploy_map": {"app_a": ["clinic-a"], "app_b": ["clinic-b", "clinic-c"], "s": ["server"]},
    }
    apps = {f"app_{app}__config__config_fed_client_json": "{}" for app in "ab"}
    folder = project(meta_json=deployed, s__config__config_fed_server_json=json.dumps(SERVER), **apps)
    own = read_own(JOBS, folder)
    assert (own.job.sites, own.job.command[-2:]) == (3, ("-t", "{sites}"))


@pytest.mark.parametrize(
    ("text", "proof"),
    [
        ("FedStatsRecipe()", ["every_site_took_part", "rounds_completed", "statistics_complete"]),
        ("FedEvalRecipe()", ["every_site_took_part", "rounds_completed", "cross_validation_complete"]),
        ("FedAvgRecipe()\nadd_cross_site_evaluation(recipe)", [*TRAINS, "cross_validation_complete"]),
        ("class Own(ModelController): ...", TRAINS[:-1]),
        ("class Own(ModelController):\n    def run(self):\n        self.save_model(m)", TRAINS),
        ("class Own(ModelController): ...\ntorch.save(weights, 'last.pt')", TRAINS),
        ("FedAvg()\nCrossSiteModelEval()", TRAINS),
        ("FedAvgJob()\nCrossSiteModelEval()", [*TRAINS, "cross_validation_complete"]),
        ("DhPSIRecipe()", ["every_site_took_part"]),
        ("FlowerRecipe()", ["every_site_took_part"]),
        ("job.to_server(Mine(num_rounds=3))", TRAINS),
        ("job.to_server(Mine())", ["every_site_took_part"]),
    ],
)
def test_its_workflows_decide_what_is_to_be_shown(project, text, proof):
    assert claims(project(job_py=text)) == proof


def test_src_or_a_pyproject_is_on_the_path(project):
    folder = project(job_py=RECIPE, src__line__net_py="import torch\n")
    assert found(folder)["example"]["environ"] == {"PYTHONPATH": "src"}
    assert "environ" not in found(
        folder, example={"command": ["job.py"], "environ": {"PYTHONPATH": "lib"}}
    ).get("example", {})
    flat = project(job_py=RECIPE, **{"pyproject.toml": "[project]\nname = 'x'\n"})
    (flat / "src" / "line" / "net.py").unlink()
    assert found(flat)["example"]["environ"] == {"PYTHONPATH": "."}


def test_a_module_or_a_shell_script_may_be_the_command(project):
    folder = project(src__line__train_py=RECIPE, **{"run.sh": "nvflare simulator jobs/a -n 4\n"})
    assert found(folder, example={"command": ["-m", "line.train"]})["sites"] == 3
    own = read_own(JOBS, folder / "run.sh")
    assert (own.job.command, own.job.sites, own.job.name) == (("run.sh",), 4, "my_line_run")
    folder = project(job_py=RECIPE, **{"run.sh": "python3 job.py --n_clients 3\n"})
    assert read_own(JOBS, folder / "run.sh").job.command == ("run.sh",)  # its options are the other script's


def test_what_is_to_be_run_has_to_show(golden, project):
    folder = project(a_py="SimEnv()", b_py="SimEnv()", jobs__one__meta_json=META)
    texts = []
    for files in ((), ("a.py",), ("b.py",)):
        for name in files:
            (folder / name).unlink()
        try:
            texts.append(read_own(JOBS, folder).job.command[0])
        except RecordError as error:
            texts.append(str(error))
    folder = project(job_py=RECIPE, other_py=RECIPE)
    (folder / "job.yml").write_text("example: {command: [job.py]}\n")
    with pytest.raises(RecordError) as error:
        read_own(JOBS, folder / "other.py")
    golden(*texts, str(error.value))
