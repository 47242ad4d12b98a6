# SPDX-License-Identifier: Apache-2.0
"""`make` finds a Python that fits, among fakes on PATH."""

import shutil
import subprocess
from pathlib import Path

import pytest
from runners.commands import capture_command

REPOSITORY = Path(__file__).parents[2]
NEW = """#!/bin/sh
case "$*" in
  "-c import"*) exit {status};;
  "-m venv"*) mkdir -p .venv/bin && echo "$0" > made-by
    cp {stub} .venv/bin/python && cp {stub} .venv/bin/uv;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "a checkout"
    (folder / "requirements").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    shutil.copy(REPOSITORY / "Makefile", folder)
    for name in ("pyproject.toml", "requirements/controller.txt", "requirements/uv.txt"):
        (folder / name).touch()
    stub = tmp_path / "stub"
    stub.write_text("#!/bin/sh\n")
    stub.chmod(0o755)
    for name in ("sh", "mkdir", "cp", "touch", "test"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    return folder


def python(checkout: Path, name: str, status: int = 0) -> Path:
    """Put a Python on PATH that fits, or does not."""
    path = checkout.parent / "bin" / name
    path.write_text(NEW.format(status=status, stub=checkout.parent / "stub"))
    path.chmod(0o755)
    return path


def make(checkout: Path, *arguments: str, target: str = "all") -> subprocess.CompletedProcess[str]:
    return capture_command(
        [str(shutil.which("make")), target, *arguments],
        cwd=checkout,
        env={"PATH": str(checkout.parent / "bin")},
    )


@pytest.mark.parametrize("name", ["python3.13", "python3.12", "python3.11", "python3"])
def test_the_one_that_is_there_is_taken(checkout: Path, name: str) -> None:
    path = python(checkout, name)
    done = make(checkout)
    assert done.returncode == 0, done.stderr
    assert (checkout / "made-by").read_text().strip() == str(path)
    assert (checkout / ".venv" / ".done").exists()


def test_one_that_does_not_fit_is_passed_over(checkout: Path) -> None:
    python(checkout, "python3.13", status=127)  # as a shim of pyenv ends
    python(checkout, "python3", status=1)
    path = python(checkout, "python3.11")
    assert make(checkout).returncode == 0
    assert (checkout / "made-by").read_text().strip() == str(path)


def test_the_one_that_the_user_names_is_taken(checkout: Path) -> None:
    python(checkout, "python3.13")
    path = python(checkout, "mine")
    assert make(checkout, f"PYTHON={path}").returncode == 0
    assert (checkout / "made-by").read_text().strip() == str(path)


def test_a_venv_that_fits_stays(checkout: Path) -> None:
    python(checkout, "python3")
    make(checkout)
    (checkout / "made-by").unlink()
    (checkout / ".venv" / ".done").unlink()
    assert make(checkout).returncode == 0
    assert not (checkout / "made-by").exists()


def test_cleaning_keeps_results(checkout: Path) -> None:
    for name in ("rm", "find"):
        (checkout.parent / "bin" / name).symlink_to(str(shutil.which(name)))
    for name in (".venv/bin", ".ruff_cache", "src/__pycache__", "results/run/host"):
        (checkout / name).mkdir(parents=True)
    (checkout / "results/run/run.json").touch()
    done = make(checkout, target="clean")
    assert done.returncode == 0, done.stderr
    assert (checkout / "results/run/run.json").exists()
    assert not any((checkout / name).exists() for name in (".venv", ".ruff_cache", "src/__pycache__"))


@pytest.mark.parametrize("named", ["", "python3.9"])
def test_without_one_a_sentence_says_which_fit(checkout: Path, named: str) -> None:
    python(checkout, "python3", status=1)
    python(checkout, "python3.9", status=1)
    done = make(checkout, *([f"PYTHON={named}"] if named else []))
    assert done.returncode == 2
    said = done.stderr.splitlines()
    assert said[0].startswith("Rekindle needs a Python from 3.11 to 3.14")
    assert (named or "python3.13 python3.12 python3.11 python3.") in said[0]
    assert "Fix: install one" in said[0]
    assert len(said) == 2  # make's own
    assert not (checkout / ".venv").exists()
