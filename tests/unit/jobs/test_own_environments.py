# SPDX-License-Identifier: Apache-2.0
"""The environment of a job of one's own, as its imports and its requirements decide it."""

import pytest
from runners.plays import REPOSITORY

from rekindle.jobs import read_own
from rekindle.jobs.defaults import fill_defaults, read_source
from rekindle.locks import list_lock_packages

JOBS = REPOSITORY / "flare_jobs"
RECIPE = "from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe\nFedAvgRecipe(script='client.py')\n"
CLIENT = "import torch\nimport nvflare.client as flare\n"


def environment_of(path):
    return fill_defaults(read_source(path, {}), {})["environment"]


@pytest.mark.parametrize(
    ("line", "environment", "because"),
    [
        (
            "from nvflare.app_opt.xgboost.recipes import XGBBaggingRecipe",
            "torch+vision",
            "packaging, tensorboard, torch; xgboost would have to be in requirements",
        ),
        ("from nvflare.app_common.statistics.numpy_utils import get_std_histogram_buckets", None, "pandas"),
    ],
)
def test_what_nvflares_modules_import_is_in_the_environment(project, line, environment, because):
    read = environment_of(project(job_py=line))
    assert read.because == f"its imports: {because}"
    assert environment in (read.value, None)
    assert environment or "pandas" in list_lock_packages(read.value)


@pytest.mark.parametrize(
    ("call", "because"),
    [
        ("load_diabetes(as_frame=True)", "pandas, scikit-learn"),
        ("read_excel('x')", "scikit-learn; openpyxl would have to be in requirements"),
        ("pandas.read_parquet('x')", "pyarrow, scikit-learn"),
        ("load_diabetes()", "scikit-learn"),
    ],
)
def test_what_a_call_imports_is_in_the_environment(project, call, because):
    read = environment_of(project(job_py=f"from sklearn.datasets import load_diabetes\n{call}"))
    assert read.because == f"its imports: {because}"


@pytest.mark.parametrize("tracker", ['"mlflow"', 'tracking_type="mlflow"'])
def test_a_tracker_is_in_the_environment(project, tracker):
    lines = f"import torch\nadd_experiment_tracking(recipe, {tracker})"
    assert environment_of(project(job_py=lines)).value == "torch+tracking"


@pytest.mark.parametrize(
    ("imports", "environment", "lacks"),
    [
        ("import numpy", "torch", ""),
        ("import torchvision.transforms\nimport pandas", "torch+vision", ""),
        ("import nvflare.client.lightning as flare", "lightning", ""),
        ("from transformers import Trainer", "transformers", ""),
        ("import tensorflow as tf", "tensorflow", ""),
        ("from nvflare.app_opt.tf.job_config.fed_avg import FedAvgJob", "tensorflow", ""),
        ("import torch\nimport monai\nfrom PIL import Image", "torch+vision", "monai"),
        ("import torch\ntry:\n    import apex\nexcept ImportError:\n    apex = None", "torch", ""),
        ("import torch\nfrom . import tensorflow", "torch", ""),
    ],
)
def test_its_imports_decide_the_environment(project, imports, environment, lacks):
    one = environment_of(project(job_py=imports))
    assert one.value == environment
    assert ("would have to be in requirements" in one.because) == bool(lacks)
    assert lacks in one.because


@pytest.mark.parametrize(
    ("listed", "lacks"), [("pytorch-ignite==0.5", ""), ("pytorch-metric-learning", "ignite")]
)
def test_a_requirement_brings_the_module_that_its_name_has_a_word_of(project, listed, lacks):
    folder = project(job_py="import ignite")
    (folder / "requirements.txt").write_text(listed)
    because = read_own(JOBS, folder).found["environment"].because
    assert because.endswith(f"; {lacks} would have to be in requirements" if lacks else "nvflare alone")


def test_files_that_nothing_names_decide_nothing(project):
    folder = project(job_py=RECIPE, client_py=CLIENT, other_trial_py="import tensorflow\n")
    assert environment_of(folder).value == "torch"
    (folder / "client.py").write_text("from other_trial import x\n")
    assert "tensorflow" in environment_of(folder).value
