# SPDX-License-Identifier: Apache-2.0
"""What an example's processes load first: modules are patched as they are imported, and no others."""

import importlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rekindle.trainer import data, hook


@pytest.fixture
def finder(monkeypatch, tmp_path):
    """Return what installs patches of modules in ``tmp_path`` for the length of a test."""
    (tmp_path / "wanted_module.py").write_text("value = 'theirs'")
    (tmp_path / "other_module.py").write_text("value = 'theirs'")
    monkeypatch.syspath_prepend(tmp_path)

    def install(*tables):
        monkeypatch.setattr(sys, "meta_path", [hook.Finder(*tables), *sys.meta_path])

    yield install
    for name in ("wanted_module", "other_module"):
        sys.modules.pop(name, None)


def test_a_module_is_patched_after_it_was_executed(finder):
    finder({"wanted_module": lambda module: setattr(module, "value", f"{module.value}, then ours")})
    assert importlib.import_module("wanted_module").value == "theirs, then ours"


def test_two_patches_of_a_module_go_together_in_their_order(finder):
    first = {"wanted_module": lambda module: setattr(module, "value", f"{module.value}, then the room's")}
    then = {"wanted_module": lambda module: setattr(module, "value", f"{module.value}, then ours")}
    finder(first, then)
    assert importlib.import_module("wanted_module").value == "theirs, then the room's, then ours"


def test_a_module_that_is_not_installed_stays_missing(finder):
    finder({"module_of_nobody": lambda module: None})
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("module_of_nobody")


def simulator(set_up=lambda runner: None):
    """Return NVFlare's SimulatorRunner, patched: what sets one up in a workspace and returns it."""

    class SimulatorRunner:
        setup = set_up

        def __init__(self, workspace, job_folder="jobs/hello"):
            self.workspace, self.job_folder, self.log_config = workspace, job_folder, "ERROR"

        def run(self):
            type(self)(self.workspace, self.job_folder).setup()  # NVFlare does it in another process
            return 0

    hook.PATCHES["nvflare.private.fed.app.simulator.simulator_runner"](
        SimpleNamespace(SimulatorRunner=SimulatorRunner, mpm=None)
    )

    def simulate(workspace, **more):
        runner = SimulatorRunner(str(workspace), **more)
        runner.setup()
        return runner

    return simulate


def test_the_simulator_works_below_the_runs_folder_and_keeps_nvflares_logs(root, tmp_path):
    runner = simulator()(tmp_path / "chosen")
    assert (runner.workspace, runner.log_config) == (str(root / "hello"), "concise")
    assert (tmp_path / "chosen").readlink() == root / "hello"
    assert os.environ["REKINDLE_SERVER"] == "server"


def test_a_simulation_in_the_runs_folder_has_the_name_that_its_recipe_chose(root):
    assert simulator()(root / "digits").workspace == str(root / "digits")


@pytest.mark.parametrize("folder", [".", "./", "app/.."])
def test_a_simulation_of_the_folder_in_which_it_is_started_has_that_ones_name(
    root, tmp_path, monkeypatch, folder
):
    (tmp_path / "sums/app").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "sums")
    assert simulator()(tmp_path / "chosen", job_folder=folder).workspace == str(root / "sums")


@pytest.mark.parametrize("folder", ["jobs/hello.zip", "jobs/hello"])
def test_a_later_simulation_has_a_folder_and_a_server_of_its_own(root, tmp_path, folder):
    simulate = simulator(lambda runner: Path(runner.workspace).mkdir())
    made = [simulate(tmp_path / "chosen", job_folder=folder).workspace for _ in range(3)]
    assert made == [str(root / name) for name in ("hello", "hello-2", "hello-3")]
    assert os.environ["REKINDLE_SERVER"] == "server.hello-3"


def test_what_setting_up_returns_is_the_simulators(root):
    module = SimpleNamespace(
        SimulatorRunner=type("SimulatorRunner", (), {"setup": lambda runner: "set up", "run": None}), mpm=None
    )
    hook.PATCHES["nvflare.private.fed.app.simulator.simulator_runner"](module)
    runner = module.SimulatorRunner()
    runner.workspace, runner.job_folder = str(root / "digits"), "jobs/digits"
    assert runner.setup() == "set up"


def test_what_a_simulation_left_is_in_folders_where_it_was_chosen(root, tmp_path):
    first = simulator(lambda runner: Path(runner.workspace).mkdir())(tmp_path / "other")
    assert type(first)(str(tmp_path / "chosen")).run() == 0
    assert (tmp_path / "chosen").is_dir()
    assert not (tmp_path / "chosen").is_symlink()


def simulate_with_settings(workspace):
    """Return the folder of a simulation for which settings were given, as NVFlare 2.9's SimEnv does."""
    (workspace / "local").mkdir(parents=True, exist_ok=True)
    (workspace / "local/resources.json.default").write_text("{}")
    simulate = simulator(lambda runner: Path(runner.workspace, "server").mkdir(parents=True))
    return Path(simulate(workspace).workspace)


def test_settings_that_were_given_for_a_simulation_are_no_earlier_one(root):
    assert simulate_with_settings(root / "hello") == root / "hello"
    assert simulate_with_settings(root / "hello") == root / "hello-2"


def test_settings_go_along_to_the_runs_folder(root, tmp_path):
    for workspace in (tmp_path / "chosen", root / "hello"):
        made = simulate_with_settings(workspace)
        assert made.parent == root
        assert (made / "local/resources.json.default").is_file()


class Component:
    """Stands for a component of a job's own, or for one of ours, which gets all of them."""

    def __init__(self, components):
        self.components = components


class Swarm(Component):
    """Stands for the witness of swarm learning."""


class SwarmClientController:
    """Stands for NVFlare's, whose name alone counts."""


class Controller:
    """Stands for a workflow."""


def configurator(handlers=(), executors=(), **content):
    """Return what NVFlare has of a configuration when it finalizes it."""
    return SimpleNamespace(
        components={},
        handlers=[*handlers],
        workflows=[SimpleNamespace(controller=Controller())],
        executors=[SimpleNamespace(executor=executor) for executor in executors],
        args=SimpleNamespace(client_name="site-1"),
        config_data=content,
        task_request_interval=2,
    )


@pytest.fixture
def finalized(component, monkeypatch):
    """Return what finalizes a configuration of a server or a client, and what was recorded of it by then."""
    recorded = []

    class Recorder:
        def __init__(self, name):
            self._name = name

        def configuration(self, member, content):
            recorded.append((self._name, member, content))

    for name, has in {
        "evidence": {"name_server": lambda: "server", "Evidence": Recorder},
        "tasks": {"TaskWitness": Component},
        "swarm": {"SwarmWitness": Swarm},
        "filters": {"FilterWitness": lambda site: Component({})},
    }.items():
        monkeypatch.setitem(sys.modules, f"rekindle.trainer.{name}", SimpleNamespace(**has))
    component("rekindle.trainer.witnesses", {})

    def finalize(kind, configuration):
        own = type(
            f"{kind}JsonConfigurator", (), {"finalize_config": lambda self: recorded.append("NVFlare")}
        )
        module = SimpleNamespace(**{own.__name__: own})
        hook.PATCHES[f"nvflare.private.fed.{kind.lower()}.{kind.lower()}_json_config"](module)
        own.finalize_config(configuration)
        return recorded

    return finalize


def test_every_server_gets_our_component_beside_its_own_before_nvflare_finalizes(finalized):
    theirs = object()
    server = configurator([theirs], workflows=[{"id": "controller"}], components=[{"id": "persistor"}])
    server.components["persistor"] = theirs
    recorded = finalized("Server", server)
    assert [type(handler) for handler in server.handlers] == [object, Component]
    assert server.components == {"persistor": theirs, "rekindle_task_witness": server.handlers[1]}
    assert server.handlers[1].components is server.components
    workflow, persistor = {"id": "controller", "path": f"{__name__}.Controller"}, {"path": "builtins.object"}
    content = {"workflows": [workflow], "components": [{"id": "persistor", **persistor}]}
    assert recorded == [("server", "server", content), "NVFlare"]
    assert server.config_data["components"] == [{"id": "persistor"}]


def test_a_component_that_the_job_itself_has_is_added_once(finalized):
    ours = Component({})
    server = configurator([ours])
    finalized("Server", server)
    assert server.handlers == [ours]


@pytest.mark.parametrize(
    ("executors", "added"), [([SwarmClientController()], [Swarm]), ([Controller()], []), ([], [])]
)
def test_a_client_of_swarm_learning_alone_gets_a_witness(finalized, executors, added):
    client = configurator(executors=executors, components=[])
    recorded = finalized("Client", client)
    assert [type(handler) for handler in client.handlers] == added
    assert recorded == [("site-1.server", "site-1", {"components": []}), "NVFlare"]


def test_a_client_that_filters_its_results_gets_a_witness_of_them(finalized):
    client = configurator(task_result_filters=[{"tasks": ["train"]}])
    finalized("Client", client)
    assert [*client.components] == ["rekindle_filter_witness"]


def test_weights_and_code_in_a_configuration_are_not_recorded(finalized):
    args = {"weights": [0.5] * 2_000, "code": "x" * 2_000, "rounds": 3, "model": Controller(), "names": ["a"]}
    recorded = finalized("Client", configurator(args=args))
    kept = {"rounds": 3, "model": {"path": f"{__name__}.Controller"}, "names": ["a"]}
    assert recorded[0][2] == {"args": {"weights": None, "code": None, **kept}}


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


class Mnist:
    """As torchvision's: each class has a folder of its own name."""

    def __init__(self, root, train=True):
        self.raw = f"{root}/{type(self).__name__}/raw"


def test_torchvisions_mnist_and_fashion_mnist_are_read_from_stand_ins(monkeypatch, tmp_path):
    monkeypatch.setenv(data.DATA, str(tmp_path))
    theirs = type("MNIST", (Mnist,), {})
    fashion, other = (type(name, (theirs,), {}) for name in ("FashionMNIST", "KMNIST"))
    data.STAND_INS["torchvision.datasets.mnist"](SimpleNamespace(MNIST=theirs))
    assert theirs(tmp_path / "own").raw == f"{tmp_path}/own/MNIST/raw"
    for name in ("mnist", "fashion_mnist"):
        (tmp_path / name).mkdir()
    assert theirs(tmp_path / "own", train=False).raw == f"{tmp_path}/mnist/MNIST/raw"
    assert fashion(root=tmp_path / "own").raw == f"{tmp_path}/fashion_mnist/FashionMNIST/raw"
    assert other(tmp_path / "own").raw == f"{tmp_path}/own/KMNIST/raw"


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
