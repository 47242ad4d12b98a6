"""Environments: locked, whole, rebuilt when damaged, and from a wheelhouse alone when asked.

Real ones, but of three small packages: the driver's own.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest

from rekindle import diff
from rekindle.environments import build as builder
from rekindle.environments import probe as prober
from rekindle.environments.lockfile import Pin, lacking, pins
from rekindle.environments.progress import Teller
from rekindle.records import Environment, EnvRecord, Progress, RecordError, read

LOCK = files("rekindle.locks").joinpath("driver.txt").read_bytes()


@pytest.fixture(scope="module")
def uv_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def root(tmp_path, uv_cache):
    """Return Rekindle's folder on a host, with uv in it and a cache that the module shares."""
    (tmp_path / "cache" / "bin").mkdir(parents=True)
    shutil.copy(Path(sys.executable).with_name("uv"), tmp_path / "cache" / "bin" / "uv")
    (tmp_path / "cache" / "uv").symlink_to(uv_cache)
    (tmp_path / "tmp").mkdir()
    return tmp_path


@pytest.fixture
def spec():
    return {
        "name": "driver",
        "python": sys.executable,
        "lock": "driver.txt",
        "lock_sha256": hashlib.sha256(LOCK).hexdigest(),
        "system_site": False,
        "gpus": [],
        "offline": False,
    }


def test_it_is_built_once_and_holds_exactly_what_the_lock_names(root, spec):
    record, changed = builder.build(root, spec)
    environment = msgspec.convert(record, Environment)
    assert changed
    assert environment.packages == {pin.name: pin.version for pin in pins(LOCK.decode(), os.uname().machine)}
    assert builder.build(root, spec) == (record, False)


@pytest.mark.parametrize("damage", ["deleted", "truncated", "added", "marker", "half"])
def test_damage_is_noticed_and_mended(root, spec, damage):
    record, _ = builder.build(root, spec)
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
    again, changed = builder.build(root, spec)
    assert changed
    assert next(Path(again["path"]).rglob("_core*.so")).stat().st_size == size
    assert not list(Path(again["path"]).rglob("stray.py"))


def test_an_interrupted_build_leaves_nothing_that_counts(root, spec, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(builder, "probe", broken)
    with pytest.raises(KeyboardInterrupt):
        builder.build(root, spec)
    assert [path.name for path in (root / "envs").iterdir()] == [".driver.lock"]


def _answer(root):
    """Wait for what a detached build ends with."""
    path = root / "logs" / "environments" / "progress.json"
    end = time.monotonic() + 60
    while True:
        with suppress(RecordError):
            progress = read(path, Progress)
            if progress.state != "running":
                return progress
        assert time.monotonic() < end
        time.sleep(0.05)


def _start(root, *specs):
    command = [sys.executable, "-m", "rekindle.environments", "start", str(root)]
    return subprocess.run(command, input=json.dumps(specs), capture_output=True, text=True, check=False)


def test_two_at_the_same_time_build_one(root, spec):
    code = (
        "import json, sys; from pathlib import Path; from rekindle.environments.build import build; "
        "print(json.dumps(build(Path(sys.argv[1]), json.loads(sys.argv[2]))))"
    )

    def run(_):
        command = [sys.executable, "-c", code, str(root), json.dumps(spec)]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(run, range(2)))
    assert sorted(changed for _, changed in answers) == [False, True]
    assert answers[0][0] == answers[1][0]


def test_a_detached_build_tells_what_came_of_it_and_whether_it_changed_anything(root, spec):
    for changed, says in ((True, "built"), (False, "nothing to do")):
        assert _start(root, spec).returncode == 0
        progress = _answer(root)
        assert (progress.state, progress.changed, progress.says) == ("ended", changed, says)
        assert progress.result["environments"][0]["framework"] == "driver"


def test_a_detached_build_that_fails_tells_its_sentence(root, spec):
    _start(root, {**spec, "lock_sha256": "0" * 64})
    progress = _answer(root)
    assert progress.state == "failed"
    assert "Fix:" in progress.says


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


def test_progress_says_what_came_how_fast_and_what_is_left(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    teller = Teller(tmp_path / "progress.json", cache)
    teller.begin("torch")
    assert teller._says() == "torch"
    teller.hear("Downloading torch (100.0MiB)\n")
    teller.hear("Downloading numpy (512.0KiB)\n")
    assert teller._says() == "torch: 0 of 105 MB at 0.0 MB/s, not begun"
    (cache / "part").write_bytes(bytes(50 << 20))
    assert re.fullmatch(r"torch: 52 of 105 MB at [\d.]+ MB/s, \d+ s left", teller._says())
    (cache / "rest").write_bytes(bytes(60 << 20))
    assert teller._says() == "torch: 105 MB are here, installing and probing"


def test_another_lock_than_the_planned_one_is_refused(root, spec):
    with pytest.raises(builder.BuildError, match=r"is not the lock that was planned\. Fix:"):
        builder.build(root, {**spec, "lock_sha256": "0" * 64})


def test_an_environment_that_does_not_work_is_not_kept(root, spec, monkeypatch):
    def broken(*_):
        raise prober.ProbeError("torch sees 1 GPUs and the host has 2")

    monkeypatch.setattr(builder, "probe", broken)
    with pytest.raises(builder.BuildError, match=r"does not work: torch sees 1 GPUs and the host has 2\."):
        builder.build(root, spec)
    assert not list((root / "envs").glob("driver-*"))


def test_packages_of_the_host_are_lent_and_the_lock_wins(root, spec):
    record, _ = builder.build(root, {**spec, "system_site": True})
    assert "pytest" in record["system_site"]
    assert "msgspec" in record["packages"]
    assert "msgspec" not in record["system_site"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Return a folder of the driver's wheels, fetched by `rekindle bundle`'s own means."""
    from rekindle import bundle  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("wheelhouse")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(LOCK).hexdigest()
    target = bundle._Target(
        "driver.txt", digest, version, os.uname().machine, os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    )
    bundle._fill(folder, target)
    return folder / digest[:12]


def _offline(root, spec, wheels):
    target = builder.wheel_folder(root, spec["lock_sha256"])
    shutil.copytree(wheels, target)
    (root / "cache" / "uv").unlink()
    return target, {**spec, "offline": True}


def test_a_wheelhouse_alone_is_enough(root, spec, wheels, monkeypatch):
    _, offline = _offline(root, spec, wheels)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:1/simple")
    record, _ = builder.build(root, offline)
    assert set(record["packages"]) == {"msgspec", "psutil", "nvidia-ml-py"}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (Path.unlink, r"not whole for driver\.txt: psutil [\d.]+ is missing\. Fix: run `rekindle bundle`"),
        (lambda path: path.write_bytes(b"x"), r"psutil-\S+\.whl is not the file that was locked"),
    ],
    ids=["missing", "altered"],
)
def test_a_wheel_that_is_missing_or_altered_is_one_sentence(root, spec, wheels, damage, said):
    target, offline = _offline(root, spec, wheels)
    damage(next(target.glob("psutil-*")))
    with pytest.raises(builder.BuildError, match=said) as error:
        builder.build(root, offline)
    assert "\n" not in str(error.value)


def test_bundling_again_fetches_nothing_and_drops_strays(wheels, capsys):
    from rekindle import bundle  # noqa: PLC0415

    (wheels / "stray-1.0-py3-none-any.whl").write_bytes(b"stray")
    digest = hashlib.sha256(LOCK).hexdigest()
    bundle._fill(wheels.parent, bundle._Target("driver.txt", digest, "3.11", os.uname().machine, "2.36"))
    assert "3 of 3 files are there" in capsys.readouterr().out
    assert not list(wheels.glob("stray*"))


def test_a_lock_is_read_for_one_architecture():
    digest = "a" * 64
    digests = f" \\\n    --hash=sha256:{digest}\n"
    text = f"# made\none==1.0{digests}two==2.0 ; platform_machine == 'aarch64'{digests}"
    assert [pin.name for pin in pins(text, "x86_64")] == ["one"]
    assert [pin.name for pin in pins(text, "aarch64")] == ["one", "two"]


def test_lacking_tells_missing_from_altered(tmp_path):
    (tmp_path / "some_pkg-1.0-py3-none-any.whl").write_bytes(b"other")
    wanted = [Pin("some-pkg", "1.0", frozenset({"a"})), Pin("gone", "2.0", frozenset({"b"}))]
    assert list(lacking(wanted, tmp_path)) == [
        "some_pkg-1.0-py3-none-any.whl is not the file that was locked: its digest differs",
        "gone 2.0 is missing",
    ]


def test_a_probe_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(prober, "_LIMIT_S", 1)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nsleep 60\n")
    python.chmod(0o755)
    began = time.monotonic()
    with pytest.raises(prober.ProbeError, match="hung for 1 s"):
        prober.probe(python, "torch", [], tmp_path)
    assert time.monotonic() - began < 10


def _answering(tmp_path, *answers):
    """Return an interpreter that gives one answer after the other: a report, or an error to end with."""
    python = tmp_path / "python"
    for number, answer in enumerate(answers):
        (tmp_path / f"answer-{number}").write_text(answer)
    python.write_text(
        f"#!/bin/sh\ncd {tmp_path}\nn=$(cat count 2>/dev/null || echo 0)\necho $((n+1)) > count\n"
        'echo "$2" >> asked\ncase $(cat answer-$n) in\n'
        "Error*) cat answer-$n >&2; exit 1;;\n*) cat answer-$n;;\nesac\n"
    )
    python.chmod(0o755)
    return python


def _report(gpus):
    return json.dumps({"build": {}, "gpus": [{"name": "NVIDIA H200"}] * gpus, "collective": {}})


def test_fewer_gpus_than_the_host_has_fail_the_probe(tmp_path):
    with pytest.raises(prober.ProbeError, match="sees 1 GPUs and the host has 2"):
        prober.probe(_answering(tmp_path, _report(1)), "torch", ["GPU-a", "GPU-b"], tmp_path)


def test_tensorflow_falls_back_when_nccl_fails_and_says_so(tmp_path):
    python = _answering(tmp_path, "Error: NCCL unhandled cuda error", _report(2))
    report = prober.probe(python, "tensorflow", ["GPU-a", "GPU-b"], tmp_path)
    assert report["cross_device_ops"] == "HierarchicalCopyAllReduce"
    assert "NCCL unhandled cuda error" in report["failed"][0]
    assert (tmp_path / "asked").read_text().split() == ["NcclAllReduce", "HierarchicalCopyAllReduce"]


def test_tensorflow_without_any_collective_fails(tmp_path):
    python = _answering(tmp_path, "Error: one", "Error: two")
    with pytest.raises(prober.ProbeError, match=r"Error: one.*Error: two"):
        prober.probe(python, "tensorflow", ["GPU-a", "GPU-b"], tmp_path)


def _environment(**changes):
    base = {
        "framework": "torch",
        "path": "/a",
        "python": "/a/bin/python",
        "python_version": "3.12.3",
        "lock": "l.txt",
        "lock_sha256": "0" * 64,
        "built": "2026-11-21T02:00:00Z",
        "build_s": 1.0,
        "packages": {"torch": "2.11.0", "numpy": "2.5.5"},
        "probe": {"build": {"cuda": "13.0"}},
    }
    return EnvRecord(host="h", environments=(Environment(**{**base, **changes}),))


def test_diff_names_what_differs_and_nothing_else():
    same = _environment(path="/b", built="2026-11-22T02:00:00Z", build_s=9.0)
    other = _environment(packages={"torch": "2.13.0", "scipy": "1"}, probe={"build": {"cuda": "12.8"}})
    assert list(diff.differences(_environment(), same)) == []
    assert list(diff.differences(_environment(), other)) == [
        "torch: build says cuda: 13.0 → 12.8",
        "torch: package numpy: 2.5.5 → absent",
        "torch: package scipy: absent → 1",
        "torch: package torch: 2.11.0 → 2.13.0",
    ]
    assert list(diff.differences(_environment(), EnvRecord(host="h", environments=()))) == [
        "torch: only in the first"
    ]
