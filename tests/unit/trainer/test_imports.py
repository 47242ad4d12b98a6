# SPDX-License-Identifier: Apache-2.0
"""What a trainer cannot import is noted, and nothing else is."""

import os
import subprocess
import sys

import pytest
from runners.plays import REPOSITORY

from rekindle.host import folders
from rekindle.trainer.imports import watch_imports

OPTIONAL = "try:\n    import apex_missing\nexcept ImportError as error:\n    print(error)\n"
PROBE = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', HOOK + 'import apex_missing'])\n"
HOOK = "from rekindle.trainer.imports import watch_exit; watch_exit()\n"
CASES = {
    "missing": ("import apex_missing", "ModuleNotFoundError: No module named 'apex_missing'\n"),
    "optional": (OPTIONAL, None),
    "other": ("1 / 0", None),
    "probe": (f"HOOK = {HOOK!r}\n{PROBE}", None),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("starter", ["nvflare", "python"])
def test_only_an_import_that_ends_a_trainer_is_noted(tmp_path, name, starter):
    """A trainer is a process that NVFlare or torchrun started; a process of its own is none."""
    script, noted = CASES[name]
    (tmp_path / folders.EVIDENCE).mkdir()
    (tmp_path / "client.py").write_text(HOOK + script)
    parent = f"import subprocess, sys; subprocess.run([sys.executable, {str(tmp_path / 'client.py')!r}])"
    environ = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY / "src"),
        "REKINDLE_EVIDENCE": str(tmp_path / folders.EVIDENCE),
    }
    subprocess.run([sys.executable, "-c", parent, starter], env=environ, cwd="/", check=True, timeout=60)
    file = tmp_path / folders.EVIDENCE / folders.IMPORT_ERROR
    expected = noted if starter == "nvflare" else None
    written = file.read_text() if file.exists() else None
    assert (written and written.splitlines(keepends=True)[-1]) == expected
    assert not expected or 'client.py", line 2, in <module>' in written


@pytest.mark.parametrize("kind", [ModuleNotFoundError, ImportError, ValueError])
def test_a_script_in_a_client_is_a_trainer(tmp_path, monkeypatch, kind):
    (tmp_path / folders.EVIDENCE).mkdir()
    monkeypatch.setenv("REKINDLE_EVIDENCE", str(tmp_path / folders.EVIDENCE))
    with pytest.raises(kind), watch_imports():
        raise kind("No module named 'x'")
    noted = (tmp_path / folders.EVIDENCE / folders.IMPORT_ERROR).exists()
    assert noted == issubclass(kind, ImportError)
