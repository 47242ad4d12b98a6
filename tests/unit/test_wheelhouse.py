"""The wheelhouse: bundled exactly, enough alone, and named when it is not whole."""

import hashlib
import os
import shutil
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from rekindle import bundle
from rekindle.environments import build as builder
from rekindle.environments.lockfile import Pin, lacking, pins

LOCK = files("rekindle.locks").joinpath("driver.txt").read_bytes()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Return a folder of the driver's wheels, fetched by `rekindle bundle`'s own means."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(LOCK).hexdigest()
    target = bundle._Target(
        "driver.txt",
        LOCK.decode(),
        digest,
        version,
        os.uname().machine,
        os.confstr("CS_GNU_LIBC_VERSION").split()[1],
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
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")  # where nobody listens
    record, _ = builder.build(root, offline)
    assert set(record["packages"]) == {"msgspec", "psutil", "nvidia-ml-py", "py-spy"}


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
    (wheels / "stray-1.0-py3-none-any.whl").write_bytes(b"stray")
    digest = hashlib.sha256(LOCK).hexdigest()
    bundle._fill(
        wheels.parent, bundle._Target("driver.txt", LOCK.decode(), digest, "3.11", os.uname().machine, "2.36")
    )
    assert "4 of 4 files are there" in capsys.readouterr().out
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
