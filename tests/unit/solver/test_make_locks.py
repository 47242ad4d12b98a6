# SPDX-License-Identifier: Apache-2.0
"""How scripts/make_locks.py writes what uv resolved, without an index."""

import lock_controller
import make_locks
import pytest
import resolve

from rekindle.locks import File


def _file(name, digest):
    """Return a file as an index lists it."""
    return {"url": f"any/{name}", "size": 1, "hashes": {"sha256": digest}}


def test_a_pin_of_one_architecture_carries_a_marker():
    common, x86, arm = (
        resolve.Package(name, version, frozenset(), frozenset())
        for name, version in (("numpy", "2.4.6"), ("torch", "2.13.0+cpu"), ("torch", "2.10.0"))
    )
    text = make_locks.pinned(make_locks.Lock(["3.11"]), {"x86_64": [common, x86], "aarch64": [common, arm]})
    assert text.splitlines()[1:] == [
        "numpy==2.4.6",
        "torch==2.10.0 ; platform_machine == 'aarch64'",
        "torch==2.13.0+cpu ; platform_machine == 'x86_64'",
    ]
    assert make_locks.pins(text, "x86_64") == {"numpy": "2.4.6", "torch": "2.13.0+cpu"}


def test_pythons_that_need_different_pins_are_refused():
    none = frozenset()
    found = {"x86_64": [resolve.Package("psutil", version, none, none) for version in ("7.1", "7.2")]}
    with pytest.raises(SystemExit, match=r"psutil is 7\.1 for one Python and 7\.2 for another"):
        make_locks.pinned(make_locks.Lock(["3.10", "3.11"]), found)


def test_wheels_of_other_systems_and_pythons_are_not_locked():
    names = [
        "x-1-cp311-cp311-manylinux_2_28_x86_64.whl",
        "x-1-cp39-abi3-manylinux2014_x86_64.whl",
        "x-1-py3-none-any.whl",
        "x-1-cp312-cp312-manylinux_2_28_x86_64.whl",
        "x-1-cp311-cp311-manylinux_2_28_aarch64.whl",
        "x-1-cp311-cp311-musllinux_1_2_x86_64.whl",
        "x-1-cp311-cp311-win_amd64.whl",
    ]
    wheels = [_file(name, name) for name in names]
    entry = {"name": "x", "version": "1", "wheels": wheels}
    package = resolve._package(entry, resolve.linux_tags("3.11", "x86_64"))
    assert {file.name for file in package.wheels} == set(names[:3])


def test_the_list_of_files_keeps_what_is_still_locked(tmp_path, monkeypatch):
    monkeypatch.setattr(make_locks, "LOCKS", tmp_path)
    head = make_locks.pinned(make_locks.Lock(["3.11"]), {"x86_64": ()})
    (tmp_path / "a.txt").write_text(f"{head}x==1\ny==2\n")
    old, kept, new = (
        File(digest * 64, 1, f"{name}-py3-none-any.whl")
        for digest, name in (("a", "y-1"), ("b", "x-1"), ("c", "y-2"))
    )
    make_locks.keep_files([new], [old, kept])
    assert (tmp_path / "files.list").read_text() == f"{'b' * 64} 1 {kept.name}\n{'c' * 64} 1 {new.name}\n"


def test_an_index_that_lists_no_sizes_makes_no_lock():
    with pytest.raises(SystemExit, match=r"has no size of x-1-py3-none-any\.whl\. Fix: "):
        resolve.files([{"url": "any/x-1-py3-none-any.whl", "hashes": {"sha256": "a"}}])


def test_a_controllers_lock_has_every_file_and_names_each():
    platforms = {"a": "win32", "b": "macosx_11_0_arm64"}
    wheels = [
        _file(f"cffi-2-cp3{minor}-cp3{minor}-{platform}.whl", f"{minor}{digest}")
        for minor in (11, 12)
        for digest, platform in platforms.items()
    ]
    sdist = _file("cffi-2.tar.gz", "0")
    entry = {"name": "cffi", "version": "2", "marker": "os_name != 'x'", "wheels": wheels, "sdist": sdist}
    text, names = lock_controller.render([entry])
    assert text == (
        "cffi==2 ; os_name != 'x' \\\n    --hash=sha256:0 \\\n    --hash=sha256:11a \\\n"
        "    --hash=sha256:11b \\\n    --hash=sha256:12a \\\n    --hash=sha256:12b\n"
    )
    assert names["cffi-2-cp312-cp312-macosx_11_0_arm64.whl"] == "12b"
    assert names["cffi-2.tar.gz"] == "0"
    assert "any" not in str(names)


def test_locks_are_made_from_the_index_alone(tmp_path, monkeypatch):
    uv = tmp_path / "uv"
    uv.write_text(
        "#!/bin/sh\n"
        f'echo "index=$UV_INDEX links=$UV_FIND_LINKS" >> {tmp_path}/asked\n'
        f'case "$*" in *--no-python-downloads*) ;; *) echo "a Python" >> {tmp_path}/asked; esac\n'
        'for word; do case "$word" in\n'
        '--output-file=*) echo "packages = []" > "${word#*=}" ;;\n'
        f'--excludes=*) cp "${{word#*=}}" {tmp_path}/left_out ;;\n'
        "esac; done\n"
    )
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("UV_INDEX", "further")
    monkeypatch.setenv("UV_FIND_LINKS", "folder")
    resolve.compile_pylock(["x"], {}, ["--universal"])
    resolve.compile_pylock(["x"], {}, [], find_links=True)
    assert (tmp_path / "asked").read_text() == "index= links=\nindex= links=folder\n"
    assert (tmp_path / "left_out").read_text() == ""
    resolve.compile_pylock(["x"], {}, [], without=make_locks.locks()["lightning-system-py312.txt"].without)
    assert (tmp_path / "left_out").read_text() == "torch\ntorchvision"
