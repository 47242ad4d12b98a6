"""The action that brings a run home: what it writes has an end."""

import errno
import importlib.util
import resource
import signal
import subprocess
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[2] / "plugins" / "action" / "collect_run.py"


@pytest.fixture
def plugin():
    spec = importlib.util.spec_from_file_location("collect_run", PLUGIN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_file_without_end_ends_the_one_that_writes_it(plugin, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with plugin._files_end_at(1000):
        child = subprocess.run(["dd", "if=/dev/zero", f"of={tmp_path}/dd", "bs=600"], check=False, timeout=30)
        with pytest.raises(OSError, match="File too large") as error:
            (tmp_path / "own").write_bytes(bytes(5000))
    assert child.returncode == -signal.SIGXFSZ
    assert error.value.errno == errno.EFBIG
    assert {path.stat().st_size for path in tmp_path.iterdir()} == {1000}
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
    (tmp_path / "own").write_bytes(bytes(5000))
