# SPDX-License-Identifier: Apache-2.0
"""The wheelhouse: bundled exactly, enough alone, and named when it is incomplete."""

import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from samples.hosts import solved

from rekindle import locks
from rekindle.capsule import wheelhouse as bundle
from rekindle.environments import build as builder
from rekindle.environments.lockfile import Pin, digest_folder, find_lacking, read_pins
from rekindle.host import folders
from rekindle.records import HostRecord, RecordError, read_record, write_record

LOCK = locks.read_lock("driver.txt").encode()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Return a folder of the driver's wheels, fetched by `rekindle bundle`'s own means."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(LOCK).hexdigest()
    platform = (version, os.uname().machine, os.confstr("CS_GNU_LIBC_VERSION").split()[1])
    target = bundle.Target("driver.txt", LOCK.decode(), digest, *platform)
    bundle._fill(folder, target)
    return folder / digest[:12]


def _offline(root, spec, wheels):
    target = folders.locate_wheels(root, spec["lock_sha256"])
    shutil.copytree(wheels, target)
    (root / "cache" / "uv").unlink()
    return target, {**spec, "offline": True}


def test_a_wheelhouse_alone_is_enough(root, spec, wheels, monkeypatch):
    _, offline = _offline(root, spec, wheels)
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")  # where nobody listens
    record, _ = builder.build_environment(root, offline)
    assert set(record["packages"]) == {"msgspec", "psutil", "nvidia-ml-py", "py-spy"}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (Path.unlink, r"not complete for driver\.txt: psutil [\d.]+ is missing\. Fix: run `rekindle bundle`"),
        (lambda path: path.write_bytes(b"x"), r"psutil-\S+\.whl is not the file that was locked"),
    ],
    ids=["missing", "altered"],
)
def test_a_wheel_that_is_missing_or_altered_is_one_sentence(root, spec, wheels, damage, message):
    target, offline = _offline(root, spec, wheels)
    damage(next(target.glob("psutil-*")))
    with pytest.raises(builder.BuildError, match=message) as error:
        builder.build_environment(root, offline)
    assert "\n" not in str(error.value)


def test_bundling_again_fetches_nothing_and_drops_strays(wheels, capsys):
    (wheels / "stray-1.0-py3-none-any.whl").write_bytes(b"stray")
    digest = hashlib.sha256(LOCK).hexdigest()
    target = bundle.Target("driver.txt", LOCK.decode(), digest, "3.11", os.uname().machine, "2.36")
    bundle._fill(wheels.parent, target)
    assert "4 of 4 files are there" in capsys.readouterr().out
    assert not list(wheels.glob("stray*"))


def test_one_that_cannot_be_had_is_named_and_what_was_fetched_stays(tmp_path, wheels):
    psutil = next(pin for pin in read_pins(LOCK.decode(), os.uname().machine) if pin.name == "psutil")
    text = LOCK.decode().replace(
        psutil.requirement, f"psutil=={psutil.version} \\\n    --hash=sha256:{'0' * 64}"
    )
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    target = bundle.Target("driver.txt", text, "0" * 64, version, os.uname().machine, "2.36")
    said = rf"psutil {psutil.version} of driver\.txt could not be fetched"
    with pytest.raises(bundle.BundleError, match=said):
        bundle._fill(tmp_path, target)
    there = {path.name for path in (tmp_path / ("0" * 12)).iterdir()}
    before = ("msgspec", "nvidia_ml_py")
    assert there == {path.name for path in wheels.iterdir() if path.name.startswith(before)}


def test_wheels_beside_a_lent_torch_are_for_its_python_and_not_the_bundler_s(tmp_path, recordings):
    host = read_record(recordings / "h200-x2" / "host.json", HostRecord)
    write_record(tmp_path / "host.json", host)
    write_record(tmp_path / "plan.json", solved(host, "transformers", system_site=True))
    _, beside = bundle._targets(tmp_path / "plan.json")
    assert (beside.lock, beside.python, beside.glibc) == ("transformers-system-py312.txt", "3.12", "2.39")
    names = [pin.name for pin in read_pins(beside.text, beside.architecture)]
    assert "bitsandbytes" in names
    assert not {"torch", "triton"} & set(names)


def test_a_lock_is_read_for_one_architecture():
    digest = "a" * 64
    digests = f" \\\n    --hash=sha256:{digest}\n"
    text = f"# made\none==1.0{digests}two==2.0 ; platform_machine == 'aarch64'{digests}"
    assert [pin.name for pin in read_pins(text, "x86_64")] == ["one"]
    assert [pin.name for pin in read_pins(text, "aarch64")] == ["one", "two"]


def test_lacking_distinguishes_missing_from_altered(tmp_path):
    (tmp_path / "some_pkg-1.0-py3-none-any.whl").write_bytes(b"other")
    wanted = [Pin("some-pkg", "1.0", frozenset({"a"})), Pin("gone", "2.0", frozenset({"b"}))]
    assert list(find_lacking(wanted, digest_folder(tmp_path))) == [
        "some_pkg-1.0-py3-none-any.whl is not the file that was locked: its digest differs",
        "gone 2.0 is missing",
    ]


_OLDER = "setuptools==80.9.0 --hash=sha256:062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922"
"""Than the one that our locks pin, and than the index's newest."""


def _with_source(alter=lambda text: text):
    """Return a lock of the source distribution in our locks and of what builds it, and its digest."""
    text = locks.read_lock("torch-system-py311.txt")
    names = {"pyhocon", "pyparsing", "setuptools"}
    wanted = [pin for pin in read_pins(text, os.uname().machine) if pin.name in names]
    lock = "".join(alter(pin.requirement) + "\n" for pin in wanted)
    return lock, hashlib.sha256(lock.encode()).hexdigest()


def _altered(requirement):
    """Return the builder's requirement with another digest than its file has."""
    return re.sub(r"^(setuptools\S+.*--hash=sha256:)\w{8}", r"\g<1>00000000", requirement, flags=re.DOTALL)


def test_every_lock_with_the_source_pins_what_builds_it():
    texts = map(locks.read_lock, locks.list_locks())
    with_source = [text for text in texts if "\npyhocon==" in text]
    assert with_source
    assert all("\nsetuptools==" in text for text in with_source)


def test_a_source_is_built_by_what_its_lock_pins(root, spec):
    """And not by the newest that the index has, of which no digest is known."""
    (root / "cache" / "uv").unlink()  # another test may have built it
    lock = _with_source(lambda pin: _OLDER if pin.startswith("setuptools") else pin)[0]
    locked = {**spec, "lock_text": lock, "lock_sha256": hashlib.sha256(lock.encode()).hexdigest()}
    record, _ = builder.build_environment(root, locked)
    (wheel,) = Path(record["path"]).rglob("pyhocon-*.dist-info/WHEEL")
    assert "Generator: setuptools (80.9.0)" in wheel.read_text()


def test_an_altered_builder_is_refused(root, spec):
    (root / "cache" / "uv").unlink()
    lock, digest = _with_source(_altered)
    with pytest.raises(builder.BuildError, match="Hash mismatch for `setuptools"):
        builder.build_environment(root, {**spec, "lock_text": lock, "lock_sha256": digest})


def test_a_bundled_source_is_read_by_what_its_lock_pins_and_builds_without_a_network(root, spec, tmp_path):
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    platform = (version, os.uname().machine, os.confstr("CS_GNU_LIBC_VERSION").split()[1])
    altered = bundle.Target("sdist.txt", *_with_source(_altered), *platform)
    (tmp_path / "house" / altered.sha256[:12]).mkdir(parents=True)
    source = next(pin for pin in read_pins(altered.text, platform[1]) if pin.name == "pyhocon")
    with pytest.raises(bundle.BundleError, match="pyhocon"):
        bundle.fetch_pins([source], tmp_path / "house" / altered.sha256[:12], altered)

    lock, digest = _with_source()
    whole = bundle.Target("sdist.txt", lock, digest, *platform)
    bundle._fill(tmp_path / "house", whole)
    _, offline = _offline(
        root, {**spec, "lock_text": lock, "lock_sha256": digest}, tmp_path / "house" / digest[:12]
    )
    record, _ = builder.build_environment(root, offline)
    assert {"pyhocon", "setuptools"} <= set(record["packages"])


def test_nothing_is_removed_through_a_link_or_that_is_no_package(wheels, tmp_path):
    digest = hashlib.sha256(LOCK).hexdigest()
    target = bundle.Target("driver.txt", LOCK.decode(), digest, "3.11", os.uname().machine, "2.36")
    (wheels / "thesis.txt").write_text("x")
    bundle._fill(wheels.parent, target)
    assert (wheels / "thesis.txt").exists()
    wheels.rename(tmp_path / "precious")
    wheels.symlink_to(tmp_path / "precious")
    with pytest.raises(RecordError, match="is a link"):
        bundle._fill(wheels.parent, target)
