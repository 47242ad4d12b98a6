"""What an example's processes load first: modules are patched as they are imported, and no others."""

import importlib
import json
import sys
from types import SimpleNamespace

import pytest

from rekindle.trainer import data, hook


@pytest.fixture
def finder(monkeypatch, tmp_path):
    """Return what installs patches of modules in ``tmp_path`` for the length of a test."""
    (tmp_path / "wanted_module.py").write_text("value = 'theirs'")
    (tmp_path / "other_module.py").write_text("value = 'theirs'")
    monkeypatch.syspath_prepend(tmp_path)

    def install(patches):
        monkeypatch.setattr(sys, "meta_path", [hook.Finder(patches), *sys.meta_path])

    yield install
    for name in ("wanted_module", "other_module"):
        sys.modules.pop(name, None)


def test_a_module_is_patched_after_it_was_executed(finder):
    finder({"wanted_module": lambda module: setattr(module, "value", f"{module.value}, then ours")})
    assert importlib.import_module("wanted_module").value == "theirs, then ours"


def test_a_module_that_is_not_installed_stays_missing(finder):
    finder({"module_of_nobody": lambda module: None})
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("module_of_nobody")


def test_the_simulator_works_below_the_runs_folder(monkeypatch, tmp_path):
    workspaces = []
    run = lambda self, workspace, **more: workspaces.append((workspace, more["log_config"]))  # noqa: E731
    job = type("FedJob", (), {"name": "hello", "simulator_run": run})
    monkeypatch.setenv(hook.WORKSPACE, str(tmp_path))
    hook.PATCHES["nvflare.job_config.api"](SimpleNamespace(FedJob=job))
    job().simulator_run(str(tmp_path), n_clients=2, log_config="ERROR")
    assert workspaces == [(str(tmp_path / "hello"), None)]
    assert [*tmp_path.iterdir()] == []


@pytest.fixture
def link(monkeypatch, tmp_path):
    """Return what makes the link and returns where it leads; with the removal that waits for the end."""
    at_exit = []
    monkeypatch.setattr(hook.atexit, "register", at_exit.append)

    def make(name="hello"):
        hook._link(tmp_path / "chosen/by/hello", tmp_path / "made" / name)
        return (tmp_path / "chosen/by/hello").resolve()

    return make, at_exit


def test_what_a_simulation_left_is_found_where_it_was_chosen_until_the_end(link, tmp_path):
    make, at_exit = link
    (tmp_path / "made/hello").mkdir(parents=True)
    assert [make(), make("hello-2")] == [tmp_path / "made/hello", tmp_path / "made/hello-2"]
    assert make() == tmp_path / "made/hello"  # hello-2 is not there, as after a job that was killed
    at_exit[0]()
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_folder_that_is_there_stays(link, tmp_path):
    make, at_exit = link
    (tmp_path / "chosen/by/hello").mkdir(parents=True)
    assert (make(), at_exit) == (tmp_path / "chosen/by/hello", [])


def test_a_recipes_results_are_looked_for_there(monkeypatch, tmp_path):
    class SimEnv:
        def __init__(self, *, workspace_root="/tmp/nvflare/simulation"):
            self.workspace_root = workspace_root

    monkeypatch.setenv(hook.WORKSPACE, str(tmp_path))
    hook.PATCHES["nvflare.recipe.sim_env"](SimpleNamespace(SimEnv=SimEnv))
    assert SimEnv(workspace_root="/tmp/nvflare/jobs").workspace_root == str(tmp_path)


def test_every_servers_configuration_gets_our_component_beside_its_own(tmp_path):
    class FedJobConfig:
        job_name = "hello"

        def generate_job_config(self, job_root):
            folder = tmp_path / "hello" / "app_server" / "config"
            folder.mkdir(parents=True)
            (folder / "config_fed_server.json").write_text(json.dumps({"components": [{"id": "persistor"}]}))

    hook.PATCHES["nvflare.job_config.fed_job_config"](SimpleNamespace(FedJobConfig=FedJobConfig))
    FedJobConfig().generate_job_config(str(tmp_path))
    written = json.loads((tmp_path / "hello/app_server/config/config_fed_server.json").read_text())
    assert [component["id"] for component in written["components"]] == ["persistor", "rekindle_task_witness"]


def test_our_components_are_allowed_in_jobs_without_their_own_code():
    policy = SimpleNamespace(DEFAULT_CLASS_ALLOW_LIST=("nvflare.app_common.np.np_validator.NPValidator",))
    hook.ALWAYS["nvflare.app_common.default_component_policy"](policy)
    ours = tuple(
        f"rekindle.trainer.{name}" for name in ("tasks.TaskWitness", "bounds.Bounds", "swarm.SwarmWitness")
    )
    assert policy.DEFAULT_CLASS_ALLOW_LIST[1:] == ours


class Cifar10:
    """As torchvision's, as far as its root goes."""

    def __init__(self, root, train=True):
        self.root = root


def test_cifar10_is_read_from_the_stand_in_if_there_is_one(monkeypatch, tmp_path):
    (tmp_path / "cifar10").mkdir()
    monkeypatch.setenv(data.DATA, str(tmp_path))
    theirs = type("CIFAR10", (Cifar10,), {})
    module = SimpleNamespace(CIFAR10=theirs, check_integrity=lambda path, md5=None: False)
    data.STAND_INS["torchvision.datasets.cifar"](module)
    assert module.CIFAR10("/tmp/nvflare/data").root == tmp_path / "cifar10"
    (tmp_path / "data_batch_1").write_bytes(b"")
    assert module.check_integrity(str(tmp_path / "data_batch_1"), "md5 of the real one")
    assert not module.check_integrity(str(tmp_path / "data_batch_2"), "md5 of the real one")


def test_a_data_set_of_the_hubs_is_loaded_from_the_stand_in_if_there_is_one(monkeypatch, tmp_path):
    (tmp_path / "stanfordnlp/imdb").mkdir(parents=True)
    monkeypatch.setenv(data.DATA, str(tmp_path))
    module = SimpleNamespace(load_dataset=lambda path, name=None, **more: (path, name, more))
    data.STAND_INS["datasets.load"](module)
    assert module.load_dataset("stanfordnlp/imdb", split="train") == (
        str(tmp_path / "stanfordnlp/imdb"), None, {"split": "train"},
    )  # fmt: skip
    assert module.load_dataset("json", data_files="a") == ("json", None, {"data_files": "a"})


@pytest.mark.parametrize(
    ("name", "loader"), [("mnist", "keras.src.datasets.mnist"), ("cifar10", "keras.src.datasets.cifar10")]
)
def test_keras_reads_a_stand_in_if_there_is_one(monkeypatch, tmp_path, name, loader):
    monkeypatch.setenv(data.DATA, str(tmp_path))
    module = SimpleNamespace(load_data="theirs")
    data.STAND_INS[loader](module)
    assert module.load_data == "theirs"
    (tmp_path / name).mkdir()
    data.STAND_INS[loader](module)
    assert module.load_data != "theirs"
