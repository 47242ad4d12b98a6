# SPDX-License-Identifier: Apache-2.0
"""Of which NVFlare a job is, by the names and arguments that later releases lack."""

import importlib
import json
import zipfile
from importlib.resources import files

import pytest

from rekindle.flare import moves

RECIPE = "nvflare.app_opt.pt.recipes.fedavg.FedAvgRecipe"
LAUNCHER = "nvflare.app_common.executors.launcher_executor.LauncherExecutor"


@pytest.mark.parametrize(
    ("name", "argument", "release", "since"),
    [
        (RECIPE, "initial_model", "2.7.3", "2.7.2"),
        (RECIPE, "initial_model", "2.7.1", None),
        (RECIPE, "model", "2.9.0", None),
        ("nvflare.app_opt.pt.recipes.FedAvgRecipe", "initial_model", "2.7.3", "2.7.2"),
        (LAUNCHER, "", "2.9.0", "2.9.0"),
        (LAUNCHER, "", "2.8.3", None),
        ("nvflare.fuel.hci.client.fl_admin_api", "", "2.8.0", "2.8.0"),
        ("nvflare.recipe.SimEnv", "num_clients", "2.9.0", None),
        ("torch.nn.Module", "", "2.9.0", None),
    ],
)
def test_what_a_release_lacks_is_known(name, argument, release, since):
    found = moves.describe_gone(name, release, argument)
    assert (found and f"older than {since}:" in found.message) == (True if since else None)


def test_it_is_said_in_a_sentence_with_what_to_write(golden):
    known = json.loads(files("rekindle.flare").joinpath("moved.json").read_bytes())["gone"]
    with_home = next(key for key, (_, now) in known.items() if now.startswith("nvflare.") and "(" not in key)
    found = [(RECIPE, "initial_model"), (LAUNCHER, ""), (with_home, "")]
    golden(*(str(moves.describe_gone(name, "2.9.0", argument)) for name, argument in found))


OLD = {
    "nvflare/recipe/a.py": "from b import Used\n"
    "class Kept:\n    def __init__(self, initial_model, rate=1): ...\n"
    "class Moves: ...\nclass Ends: ...\nclass Any:\n    def __init__(self, x): ...\n",
    "nvflare/recipe/__init__.py": "from .a import Lent\n",
    "nvflare/private/x.py": "class Inner: ...\n",
}
NEW = {
    "nvflare/recipe/a.py": "class Kept:\n    def __init__(self, model, initial_ckpt, rate=1): ...\n"
    "class Any:\n    def __init__(self, **more): ...\n",
    "nvflare/recipe/c.py": "if True:\n    class Moves: ...\n",
    "nvflare/recipe/__init__.py": "",
}


def test_wheels_are_compared(monkeypatch, tmp_path):
    script = importlib.import_module("compare_nvflares")
    for version, content in (("2.9.0", OLD), ("2.10.0", NEW), ("2.11.0", {**NEW, "nvflare/recipe/d.py": ""})):
        with zipfile.ZipFile(tmp_path / f"nvflare-{version}-py3-none-any.whl", "w") as archive:
            for name, text in content.items():
                archive.writestr(name, text)
    monkeypatch.setattr(script, "TARGET", tmp_path / "moved.json")
    monkeypatch.setattr("sys.argv", ["", str(tmp_path)])
    script.main()
    table = json.loads((tmp_path / "moved.json").read_text())
    assert table["releases"] == ["2.9.0", "2.10.0", "2.11.0"]
    assert table["came"] == {
        "nvflare.recipe.a.Kept(initial_ckpt)": "2.10.0",
        "nvflare.recipe.a.Kept(model)": "2.10.0",
        "nvflare.recipe.c": "2.10.0",
        "nvflare.recipe.d": "2.11.0",
    }
    assert table["gone"] == {
        "nvflare.recipe.Lent": ["2.10.0", ""],
        "nvflare.recipe.a.Ends": ["2.10.0", ""],
        "nvflare.recipe.a.Kept(initial_model)": ["2.10.0", "model"],
        "nvflare.recipe.a.Moves": ["2.10.0", "nvflare.recipe.c.Moves"],
    }
