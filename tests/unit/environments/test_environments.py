# SPDX-License-Identifier: Apache-2.0
"""Environments: locked, whole, rebuilt when damaged, and from a wheelhouse alone when asked.

Real ones, but of three small packages: the driver's own.
"""

import fcntl
import importlib.util
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from runners.commands import capture_command
from runners.waits import until

from rekindle import locks
from rekindle.environments import build as builder
from rekindle.environments import probe as prober
from rekindle.environments.lockfile import read_pins
from rekindle.environments.progress import BuildReporter
from rekindle.records import Environment, Progress
from rekindle.records.base import read_valid

LOCK = locks.read_lock("driver.txt").encode()


def test_it_is_built_once_and_holds_exactly_what_the_lock_names(root, spec):
    record, changed = builder.build_environment(root, spec)
    environment = msgspec.convert(record, Environment)
    assert changed
    assert environment.packages == {
        pin.name: pin.version for pin in read_pins(LOCK.decode(), os.uname().machine)
    }
    assert builder.build_environment(root, spec) == (record, False)


@pytest.mark.parametrize("index", ["https://me:CANARY@no host/p", "https://127.0.0.1:1/p?sig=CANARY"])
def test_an_error_of_uv_keeps_the_credentials_of_an_index(root, spec, monkeypatch, index):
    monkeypatch.setenv("PIP_INDEX_URL", index)
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    heard = []
    with pytest.raises(builder.BuildError, match=r"failed: .+\.$") as error:
        builder.build_environment(root, spec, heard.append)
    assert "CANARY" not in str(error.value)


@pytest.mark.parametrize("damage", ["deleted", "truncated", "added", "marker", "half"])
def test_damage_is_noticed_and_mended(root, spec, damage):
    record, _ = builder.build_environment(root, spec)
    assert builder.find_built(root, [spec, spec]) == [record, record]
    library = next(Path(record["path"]).rglob("_core*.so"))
    size = library.stat().st_size
    if damage == "deleted":
        library.unlink()
    elif damage == "truncated":
        os.truncate(library, size // 2)  # in uv's cache too, as it is a hard link
    elif damage == "added":
        (library.parent / "stray.py").touch()
    elif damage == "marker":
        (Path(record["path"]) / "rekindle-env.json").write_text("{")
    else:
        (Path(record["path"]) / "rekindle-env.json").unlink()
    assert builder.find_built(root, [spec]) == []
    again, changed = builder.build_environment(root, spec)
    assert changed
    assert next(Path(again["path"]).rglob("_core*.so")).stat().st_size == size
    assert not list(Path(again["path"]).rglob("stray.py"))


@pytest.mark.parametrize("other", [{"gpus": ["GPU-1"]}, {"python": "/usr/bin/python3"}])
def test_what_was_built_for_another_machine_does_not_stand_for_this_one(root, spec, other):
    builder.build_environment(root, spec)
    asked = [[spec], [spec, {**spec, **other}]]
    module = [sys.executable, "-m", "rekindle.environments", "standing", str(root)]
    answers = [subprocess.check_output(module, input=json.dumps(specs).encode()) for specs in asked]
    whole, broken = (json.loads(answer)["environments"] for answer in answers)
    assert (len(whole), broken) == (1, [])


def test_what_the_probe_compiled_is_found_where_the_environment_lies_then(root, spec, monkeypatch):
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(root / "cache" / "python"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "")

    def imports(python, *_):
        subprocess.run([python, "-c", "import psutil"], check=True)
        return {}

    monkeypatch.setattr(builder, "probe_environment", imports)
    record, _ = builder.build_environment(root, spec)
    source = next(Path(record["path"]).rglob("psutil/__init__.py"))
    monkeypatch.setattr(sys, "pycache_prefix", str(root / "cache" / "python"))
    assert Path(importlib.util.cache_from_source(str(source))).is_file()
    assert not list((root / "cache" / "python").rglob("*.building"))


def test_an_interrupted_build_leaves_nothing_that_counts(root, spec, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(builder, "probe_environment", broken)
    with pytest.raises(KeyboardInterrupt):
        builder.build_environment(root, spec)
    assert [path.name for path in (root / "envs").iterdir()] == [".driver.lock"]


def _answer(root):
    """Wait for what a detached build ends with."""
    path = root / "logs" / "environments" / "progress.json"

    def ended():
        progress = read_valid(path, Progress)
        return progress if progress and progress.state != "running" else None

    return until(ended)


def _start(root, *specs, allocation=None):
    command = [sys.executable, "-m", "rekindle.environments", "start", str(root), json.dumps(allocation)]
    return capture_command(command, input=json.dumps(specs))


def test_two_at_the_same_time_build_one(root, spec):
    code = (
        "import json, sys; from pathlib import Path; from rekindle.environments import build; "
        "print(json.dumps(build.build_environment(Path(sys.argv[1]), json.loads(sys.argv[2]))))"
    )

    def run(_):
        command = [sys.executable, "-c", code, str(root), json.dumps(spec)]
        return json.loads(capture_command(command, check=True).stdout)

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(run, range(2)))
    assert sorted(changed for _, changed in answers) == [False, True]
    assert answers[0][0] == answers[1][0]


def test_a_detached_build_records_its_result_and_whether_it_changed_anything(root, spec):
    for changed, message in ((True, "built"), (False, "nothing to do")):
        assert _start(root, spec).returncode == 0
        progress = _answer(root)
        assert (progress.state, progress.changed, progress.message) == ("ended", changed, message)
        assert progress.result["environments"][0]["framework"] == "driver"


def test_what_a_killed_build_left_is_cleared_away(root, spec):
    left = [root / "envs/.torch-0.building/bin", root / "cache/uv/.tmpA/torch"]
    for folder in left:
        folder.mkdir(parents=True)
    (root / "envs/.torch-0.building.txt").touch()
    (root / "cache/uv/.tmpB").touch()
    _start(root, spec)
    assert _answer(root).state == "ended"
    names = sorted(path.name.partition("-")[0] for path in (root / "envs").iterdir())
    assert names == [".driver.lock", "driver"]
    assert not list(root.glob("cache/uv/.tmp*"))


def test_a_second_start_follows_the_same_build_and_refuses_another(root, spec):
    logs = root / "logs" / "environments"
    logs.mkdir(parents=True)
    (logs / "specs.json").write_text(json.dumps([spec]))
    with (logs / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert _start(root, spec).returncode == 0
        other = _start(root, {**spec, "name": "other"})
    assert other.returncode == 1
    assert "Another run builds other environments" in other.stderr
    assert not (logs / "progress.json").exists()


def test_a_build_is_queued_where_slurm_gives_a_node_and_is_followed_there(root, spec, queue):
    logs = root / "logs" / "environments"
    asked = {"room": "slurm", "partition": "cpu", "nodes": 2, "time": "01:00:00"}
    assert _start(root, spec, allocation=asked).returncode == 0
    script = (logs / "batch.sh").read_text().splitlines()
    assert script[-1] == f"exec {spec['python']} -m rekindle.environments build {root}"
    assert "#SBATCH --nodes=1" in script
    assert "#SBATCH --nodes=2" not in script
    queue.set("squeue", "PENDING|Resources|N/A\n")
    assert _start(root, spec, allocation=asked).returncode == 0
    assert "Another run builds other" in _start(root, {**spec, "name": "other"}, allocation=asked).stderr
    assert len(queue.asked("sbatch")) == 1
    queue.set("squeue")
    queue.set("sbatch", errors="invalid partition", status=1)
    refused = _start(root, spec, allocation=asked)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"SLURM does not take {logs}/batch.sh: invalid partition. Fix: ")
    assert refused.stderr.count("\n") == 1


def test_a_build_here_is_not_taken_for_one_that_was_queued(root, spec, queue):
    _start(root, spec, allocation={"room": "slurm", "partition": "cpu", "time": "01:00:00"})
    assert _start(root, spec).returncode == 0
    assert not (root / "logs" / "environments" / "queue.json").exists()
    assert _answer(root).message == "built"


@pytest.mark.parametrize("when", ["before the first download", "in mid-build"])
def test_progress_makes_sense_where_the_cache_is_cleaned(tmp_path, when):
    (old := tmp_path / "cache" / "old").parent.mkdir()
    old.write_bytes(bytes(856 << 10))
    reporter = BuildReporter(tmp_path / "progress.json", tmp_path / "cache")
    reporter.begin("torch")
    if when == "before the first download":
        old.unlink()  # a damaged environment is rebuilt, without the cache that its files were linked to
    reporter.take("Downloading torch (19.0MiB)\n")
    old.unlink(missing_ok=True)
    assert reporter._message() == "torch: 0 of 20 MB at 0.0 MB/s, not begun"
    (tmp_path / "cache" / "torch").write_bytes(bytes(10 << 20))
    assert re.fullmatch(r"torch: 10 of 20 MB at [\d.]+ MB/s, \d+ s left", reporter._message())
    (tmp_path / "cache" / "torch").unlink()
    assert re.fullmatch(r"torch: 10 of 20 MB at [\d.]+ MB/s, \d+ s left", reporter._message())


def test_progress_has_what_came_how_fast_and_what_is_left(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    reporter = BuildReporter(tmp_path / "progress.json", cache)
    reporter.begin("torch")
    assert reporter._message() == "torch"
    reporter.take("Downloading torch (100.0MiB)\n")
    reporter.take("Downloading numpy (512.0KiB)\n")
    assert reporter._message() == "torch: 0 of 105 MB at 0.0 MB/s, not begun"
    (cache / "part").write_bytes(bytes(50 << 20))
    assert re.fullmatch(r"torch: 52 of 105 MB at [\d.]+ MB/s, \d+ s left", reporter._message())
    (cache / "rest").write_bytes(bytes(60 << 20))
    assert reporter._message() == "torch: 105 MB are here, installing and probing"


def test_another_lock_than_the_planned_one_fails_the_detached_build_with_its_sentence(root, spec):
    _start(root, {**spec, "lock_sha256": "0" * 64})
    progress = _answer(root)
    assert progress.state == "failed"
    assert "is not the lock that was planned. Fix:" in progress.message


def test_an_environment_that_does_not_work_is_not_kept(root, spec, monkeypatch):
    def broken(*_):
        raise prober.ProbeError("torch sees 1 GPUs and the host has 2")

    monkeypatch.setattr(builder, "probe_environment", broken)
    with pytest.raises(builder.BuildError, match=r"does not work: torch sees 1 GPUs and the host has 2\."):
        builder.build_environment(root, spec)
    assert not list((root / "envs").glob("driver-*"))


def test_packages_of_the_host_are_lent_and_the_lock_wins(root, spec):
    record, _ = builder.build_environment(root, {**spec, "system_site": True})
    assert "pytest" in record["system_site"]
    assert "msgspec" in record["packages"]
    assert "msgspec" not in record["system_site"]
    where = "import msgspec, pytest; print(msgspec.__file__); print(pytest.__file__)"
    own, lent = subprocess.check_output([record["python"], "-c", where], text=True).splitlines()
    assert own.startswith(record["path"])
    assert not lent.startswith(record["path"])
