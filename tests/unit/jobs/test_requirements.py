# SPDX-License-Identifier: Apache-2.0
"""What a job requires: of its job.yml or a file beside it, in one spelling, or one sentence."""

import os
from itertools import pairwise

import pytest
from runners.plays import REPOSITORY

from rekindle.jobs import choose_environment, load_job
from rekindle.jobs.source import Source
from rekindle.records import RecordError

JOBS = REPOSITORY / "flare_jobs"
DIGITS = REPOSITORY / "tests" / "honest" / "jobs" / "digits" / "job.yml"
CONTAINER = '  container: {image: "a:1"}\n'
PIP = "  before: [[-m, pip, install, monai]]\n"


@pytest.fixture
def job(tmp_path):
    """Return what writes a job with lines in its job.yml and files beside it, and loads it."""

    def load(lines="", example="", **files):
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        (folder / "job.py").write_text("print()")
        for name, text in files.items():
            (folder / name.replace("_", ".")).write_text(text)
        text = DIGITS.read_text().replace("sites: 2\n", f"{lines}sites: 2\n")
        (folder / "job.yml").write_text(text.replace("example:\n", f"example:\n{example}"))
        return load_job(JOBS, str(folder / "job.yml"))

    return load


TOML = '[project]\nname = "x"\ndependencies = ["monai==1.5.1"]\n'


POETRY = """
[tool.poetry.dependencies]
python = "^3.10"
monai = "^1.5.1"
timm = {version = "~0.9", extras = ["all"], markers = "python_version > '3.9'"}
einops = "*"
rich = "0.0.1"
numpy = ">=1.26,<3"
zarr = "^0.0.3"
gdcm = {version = "^3", optional = true}
[tool.poetry.group.dev.dependencies]
pytest = "*"
"""
CONDA = """
name: fl
dependencies:
  - python=3.10
  - pytorch::pytorch
  - pip:
    - timm
    - -r more.txt
"""
OPTIONS = """
--extra-index-url ${MORE}
-i ${INDEX}
-f ./wheels
--pre
timm==1.0 --hash=sha256:0123 \\
    --hash=sha256:4567
einops
"""


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, ()),
        ({"lines": "requirements: [timm, MONAI == 1.5.1]\n"}, ("monai==1.5.1", "timm")),
        ({"lines": "requirements: [timm]\n", "requirements_txt": "einops"}, ("timm",)),
        ({"lines": "requirements: []\n", "requirements_txt": "einops"}, ()),
        ({"lines": "requirements: more.txt\n", "more_txt": "# a\ntimm # b\n\n"}, ("timm",)),
        ({"requirements_txt": "-r more.txt\ntimm\n", "more_txt": "einops\\\n>=0.7"}, ("einops>=0.7", "timm")),
        ({"pyproject_toml": TOML}, ("monai==1.5.1",)),
        ({"pyproject_toml": TOML, "requirements_txt": "timm"}, ("timm",)),
        ({"requirements_txt": "timm", "example": CONTAINER}, ()),
        ({"requirements_txt": OPTIONS}, ("einops", "timm==1.0")),
        ({"requirements_txt": "-e .\ntimm", "pyproject_toml": TOML}, ("monai==1.5.1", "timm")),
        ({"requirements_txt": "--editable=.[dev]", "pyproject_toml": TOML}, ("monai==1.5.1",)),
        ({"requirements_txt": "."}, ()),
        ({"environment_yml": CONDA, "more_txt": "einops"}, ("einops", "timm")),
        ({"environment_yml": CONDA, "more_txt": "", "pyproject_toml": "[tool.ruff]"}, ("timm",)),
        ({"environment_yaml": "name: fl\ndependencies: [python=3.10]"}, ()),
        (
            {"pyproject_toml": POETRY},
            (
                "einops",
                "monai<2,>=1.5.1",
                "numpy<3,>=1.26",
                "rich==0.0.1",
                'timm[all]<0.10,>=0.9; python_version > "3.9"',
                "zarr<0.0.4,>=0.0.3",
            ),
        ),
    ],
)
def test_what_a_job_requires_is_found_where_it_stands(job, given, wanted):
    assert (job(**given).requirements or ()) == wanted


def test_the_same_set_has_one_environment_and_none_the_plain_one(job):
    first = job("requirements: [timm, MONAI == 1.5.1]\n")
    second = job("requirements: [monai==1.5.1, timm]\n")
    assert first.packaged == second.packaged != "torch"
    assert choose_environment(first, ["torch", first.packaged]) == first.packaged
    assert choose_environment(first, ["torch"]) == "torch"
    assert job("requirements: []\n").packaged == "torch"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"requirements_txt": "-e ../a\n"},
            "requires '-e ../a', which is no package of an index by its name",
        ),
        ({"pyproject_toml": '[tool.poetry.dependencies]\na = {git = "b"}'}, "requires \"a @ {'git': 'b'}\""),
        ({"pyproject_toml": '[tool.poetry.dependencies]\na = "^1 || ^2"'}, "which is no package of an index"),
        ({"environment_yml": "- a"}, "environment.yml cannot be read: "),
        ({"environment_yml": "a: ["}, "environment.yml cannot be read: "),
        ({"lines": "requirements: ['x @ https://a/x.whl']\n"}, "which is no package of an index"),
        ({"lines": "requirements: {monai: 1}\n"}, "has requirements that are no list"),
        ({"lines": "requirements: none.txt\n"}, "none.txt cannot be read: No such file"),
        ({"requirements_txt": "-r base.txt\n"}, "base.txt cannot be read: No such file"),
        ({"pyproject_toml": "[project"}, "pyproject.toml cannot be read: "),
        ({"lines": "requirements: [timm]\n", "example": CONTAINER}, "has requirements and a container"),
        ({"example": PIP}, "list them as requirements: in it"),
        ({"example": "  before: [[-m, ensurepip]]\n"}, "list them as requirements: in it"),
        ({"example": "  environ: {LD_PRELOAD: a.so}\n"}, "sets LD_PRELOAD in environ"),
        ({"example": "  environ: {REKINDLE_NONCE: a}\n"}, "sets REKINDLE_NONCE in environ"),
        ({"example": "  environ: {PYTHONHOME: a}\n"}, "sets PYTHONHOME in environ"),
    ],
)
def test_what_cannot_be_is_one_sentence(job, given, message):
    with pytest.raises(RecordError) as error:
        job(**given)
    assert message in str(error.value)
    assert " Fix: " in str(error.value)
    assert "\n" not in str(error.value)


def test_a_container_s_own_packages_may_be_installed(job):
    assert job(example=CONTAINER + PIP).image == "a:1"


SECRET = "user:hunter2:0:0\n"


@pytest.mark.parametrize("how", ["includes", "links", "names", "lists"])
def test_a_file_outside_of_the_job_is_read_for_packages_alone(job, tmp_path, how):
    def read(text, name="outside.txt"):
        outside = tmp_path / name
        outside.write_text(text)
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine/requirements.txt").unlink(missing_ok=True)
        if how == "links":
            (tmp_path / "mine/requirements.txt").symlink_to(outside)
        of = {"requirements_txt": f"timm\n-r {outside}\n"} if how == "includes" else {}
        lines = f"requirements: {outside}\n" if how in ("names", "lists") else ""
        return job(lines, **of).requirements

    with pytest.raises(RecordError, match=r"\.txt is no list of packages\. Fix: ") as error:
        read(SECRET)
    assert "hunter2" not in str(error.value)
    assert "einops" in read("einops\n")
    if how == "lists":
        with pytest.raises(RecordError, match="is no list of packages") as error:
            read('[project]\ndependencies = ["user:hunter2"]\n', "outside.toml")
        assert "hunter2" not in str(error.value)


def test_files_that_include_each_other_or_have_no_end_are_read_once_or_not(job, tmp_path):
    assert job(requirements_txt="timm\n" + "-r requirements.txt\n" * 300).requirements == ("timm",)
    os.mkfifo(tmp_path / "mine/pipe")
    for endless in ("pipe", "/dev/zero"):
        with pytest.raises(RecordError, match="cannot be read: it is no regular file"):
            job(requirements_txt=f"-r {endless}\n")
    with pytest.raises(RecordError, match="cannot be read: it has more than"):
        job(requirements_txt="#" * (1 << 20) + "\n")


ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in pairwise("abcdefghij")
)


def test_aliases_of_aliases_end(job, tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(RecordError, match="requires 'a list'"):
        job(environment_yml=ALIASES + "dependencies: [{pip: [*j]}]\n")
    (tmp_path / "mine/environment.yml").unlink()
    config = tmp_path / "app/config"
    config.mkdir(parents=True)
    (config / "config_fed_server.yml").write_text(ALIASES)
    assert [one.text for one in Source(tmp_path / "app", "").configurations] == [""]


MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{new}: &a{new} {{<<: [*a{new - 1}, *a{new - 1}]}}\n" for new in range(1, 40)
)


def test_merges_of_merges_end(job, tmp_path):
    with pytest.raises(RecordError, match="it merges too much"):
        job(environment_yml=MERGES)
    (tmp_path / "mine/environment.yml").unlink()
    with pytest.raises(RecordError, match="it merges too much"):
        job(MERGES)
    config = tmp_path / "app/config"
    config.mkdir(parents=True)
    (config / "config_fed_server.yml").write_text(MERGES)
    assert [one.text for one in Source(tmp_path / "app", "").configurations] == [""]


def test_a_key_of_many_parts_is_not_read(job):
    with pytest.raises(RecordError, match="a key has too many parts"):
        job(pyproject_toml=f"a{'.a' * 20_000} = 1\n")
