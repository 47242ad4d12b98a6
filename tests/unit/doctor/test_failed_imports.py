# SPDX-License-Identifier: Apache-2.0
"""What a failed import lacks, and whose that is."""

import pytest

from rekindle.doctor import diagnose_texts, imports, texts

INSIDE = "/v/lib/python3.11/site-packages/nvflare/x.py"


def _cause(line):
    return diagnose_texts([texts.decode_text("log.txt", f"{line}\n".encode())]).cause


@pytest.mark.parametrize(
    ("line", "layer", "remedy"),
    [
        (
            "ModuleNotFoundError: No module named 'monai'",
            "environment",
            "package that has monai as requirements:",
        ),
        (
            "2026-11-28 17:24:45,506 - SimulatorRunner - ERROR - FL server execution exception: "
            "ModuleNotFoundError: No module named 'omegaconf'",
            "environment",
            "package that has omegaconf as requirements:",
        ),
        ("ModuleNotFoundError: No module named 'utils.data'", "job", "job's own utils.data"),
        ("ModuleNotFoundError: No module named 'my_networks'", "job", "job's own my_networks"),
        (
            "ModuleNotFoundError: No module named 'nvflare.old.thing'",
            "environment",
            "release of nvflare that has",
        ),
        ("ModuleNotFoundError: No module named 'torch.nn'; 'torch' is not a package", "job", "own torch.py"),
        ("ModuleNotFoundError: No module named 'distutils'", "environment", "setuptools"),
        (
            f"ImportError: cannot import name 'Gone' from 'nvflare.x' ({INSIDE})",
            "environment",
            "nvflare.x.Gone",
        ),
        ("ImportError: cannot import name 'Net' from 'net' (/w/custom/net.py)", "job", "job's own net"),
        (
            "ImportError: cannot import name 'a' from partially initialized module 'b' (/w/b.py)",
            "job",
            "import each other",
        ),
        (
            "ImportError: /v/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c1",
            "environment",
            "build of flash_attn_2_cuda",
        ),
    ],
)
def test_what_is_missing_decides_what_to_do(line, layer, remedy):
    assert (_cause(line).layer, remedy in _cause(line).remedy) == (layer, True)


def test_a_package_that_is_installed_is_not_seen_by_a_wrong_python():
    finding = _cause("ModuleNotFoundError: No module named 'monai'")
    assert "environment's Python" in imports.explain_import(finding, {"monai": "1.5"}).remedy


@pytest.mark.parametrize(
    ("line", "layer", "remedy"),
    [
        (
            "ModuleNotFoundError: No module named 'nvflare.app_common.executors.launcher_executor'",
            "environment",
            "Take nvflare==2.8.3, the last that has nvflare.app_common.executors.launcher_executor ",
        ),
        (
            "ModuleNotFoundError: No module named 'nvflare.recipe'",
            "environment",
            "Take nvflare>=2.7.0 (in an inventory: rekindle_nvflare): no older one has nvflare.recipe.",
        ),
        (
            f"ImportError: cannot import name 'set_recipe_meta' from 'nvflare.recipe' ({INSIDE})",
            "environment",
            "Take nvflare>=2.9.0",
        ),
        (
            "AttributeError: module 'nvflare.app_common.decomposers.common_decomposers' has no attribute "
            "'NumpyArrayDecomposer'",
            "job",
            "Write from nvflare.app_common.decomposers.numpy_decomposers import NumpyArrayDecomposer: "
            "NVFlare 2.5.0 moved",
        ),
        (
            "TypeError: FedAvgRecipe.__init__() got an unexpected keyword argument 'initial_model'",
            "job",
            "Write model= in place of initial_model=: NVFlare 2.7.2 renamed it.",
        ),
        (
            "TypeError: FedAvgRecipe.__init__() got an unexpected keyword argument 'key_metric_mode'",
            "environment",
            "of FedAvgRecipe.",
        ),
        (
            "ValueError: Class nvflare.app_common.np.np_validator.NPValidator has parameters error. "
            "TypeError: __init__() got an unexpected keyword argument 'validate_task_name'.",
            "environment",
            "Take nvflare==2.7.1, the last that has validate_task_name of "
            "nvflare.app_common.np.np_validator.NPValidator ",
        ),
    ],
)
def test_what_another_nvflare_has_is_told_with_the_line_to_write(line, layer, remedy):
    raised = f'Traceback (most recent call last):\n  File "/w/job.py", line 3, in <module>\n    go()\n{line}'
    assert (_cause(raised).layer, remedy in _cause(raised).remedy) == (layer, True)


@pytest.mark.parametrize(
    "line",
    [
        "TypeError: Client.__init__() got an unexpected keyword argument 'name'",
        "TypeError: FedAvgRecipe.__init__() got an unexpected keyword argument 'colour'",
        "ModuleNotFoundError: No module named 'nvflare.of_nobody'",
    ],
)
def test_what_no_nvflare_has_is_laid_on_no_release(line):
    raised = f'Traceback (most recent call last):\n  File "/w/job.py", line 3, in <module>\n    go()\n{line}'
    assert "rekindle_nvflare" not in _cause(raised).remedy


@pytest.mark.parametrize(
    ("log", "layer", "word"),
    [
        # a row names what is missing, and says more than that it is missing
        ("AttributeError: module 'pkgutil' has no attribute 'ImpImporter'", "environment", "setuptools"),
        (
            "ImportError: cannot import name 'UTC' from 'datetime' (/usr/lib/python3.10/datetime.py)",
            "environment",
            "Take a Python",
        ),
        (
            "  File \"<string>\", line 22, in <module>\nModuleNotFoundError: No module named 'torch'",
            "environment",
            "isolation",
        ),
    ],
)
def test_what_is_known_of_what_is_missing_says_more(log, layer, word):
    raised = log if log.startswith("  File") else f'  File "/job/train.py", line 3, in <module>\n{log}'
    found = _cause(f"Traceback (most recent call last):\n{raised}")
    assert (found.layer, word in found.remedy) == (layer, True), found.remedy
