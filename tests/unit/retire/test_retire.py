# SPDX-License-Identifier: Apache-2.0
"""What is Rekindle's on a host, what of it is kept, and that all of it goes, wherever that is interrupted."""

import errno
import hashlib
import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from rekindle.host.archive import PackedFiles
from rekindle.retire import removal
from rekindle.retire.removal import RetireError, find_own_root, pack_last_copy, remove_root

BUILT = {"environment": {"framework": "torch", "lock": "torch.txt"}, "lock_text": "x==1"}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Return the home folder of the host's user."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def root(home):
    """Return the root of a host on which a job has run."""
    root = home / "rekindle"
    texts = {
        "jobs/rekindle-0123456789abcdef.zip": "code",
        "logs/environments/log.txt": "installed",
        "envs/torch-0123456789ab/rekindle-env.json": json.dumps(BUILT),
        "envs/torch-0123456789ab/lib/torch.py": "large",
        "envs/.torch-0123456789ab.building/rekindle-env.json": "{",
        "runs/toy-0123456789ab/verdict.json": "PASS",
        "runs/toy-0123456789ab/spec.json": json.dumps({"tmpdir": str(root / "tmp")}),
        "cache/uv/wheel": "large",
        "tmp/torchelastic/error": "",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def refusal(root):
    with pytest.raises(RetireError) as error:
        find_own_root(str(root))
    message = str(error.value)
    assert message.count("Fix: ") == 1
    assert "nothing was touched" in message
    return message


def test_the_folder_that_site_yml_was_run_with_is_its_own(root):
    assert find_own_root(str(root)) == find_own_root("~/rekindle") == find_own_root(f"{root}/") == root


@pytest.mark.parametrize(
    ("reason", "paths"),
    [
        ("is a home folder, or above one", ["/", "~", "~/", "~/..", "~/rekindle/..", "/proc/../"]),
        ("is a relative path", ["rekindle", "", ".", "../x", "~nobody-of-that-name/x"]),
        ("is no folder", ["~/file"]),
        ("is a link to ", ["~/link", "~/nowhere"]),
    ],
)
def test_what_is_not_rekindles_folder_is_refused(root, home, reason, paths):
    (home / "file").write_text("")
    (home / "link").symlink_to(root)
    (home / "nowhere").symlink_to("x")
    for path in paths:
        assert reason in refusal(path)


def test_the_home_that_the_system_knows_is_one_too(monkeypatch, root):
    user = type("one", (), {"pw_dir": root, "pw_uid": os.getuid()})
    monkeypatch.setattr(removal.pwd, "getpwall", lambda: [user])
    assert "is a home folder, or above one" in refusal(root)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_is_refused(root):
    os.chown(root, 1000, 1000)
    assert "belongs to user 1000" in refusal(root)


def test_a_folder_with_anything_else_in_it_is_refused(root, tmp_path):
    for name in ("thesis", ".git"):
        (root / name).mkdir()
        assert f"has {name} in it" in refusal(root)
        (root / name).rmdir()
    (root / "lost+found").mkdir()  # as where a disk is mounted
    for name in ("runs", "tmp"):
        (root / name).rename(tmp_path / name)
        (root / name).symlink_to(tmp_path)
        assert f"has {name} in it" in refusal(root)
        (root / name).unlink()
        (root / name).write_text("")
        assert f"has {name} in it" in refusal(root)
        (root / name).unlink()
        (tmp_path / name).rename(root / name)


def test_a_file_system_mounted_in_it_is_refused(root, monkeypatch):
    line = f"36 35 98:0 / {root}/cache rw,noatime - ext4 /dev/root rw\n"
    read = Path.read_text
    shown = lambda self, **more: line if self.name == "mountinfo" else read(self, **more)  # noqa: E731
    monkeypatch.setattr(Path, "read_text", shown)
    assert f"another file system in it, at {root}/cache" in refusal(root)


def test_a_folder_that_only_has_such_names_in_it_is_refused(root):
    shutil.rmtree(root / "jobs")
    assert "has none of Rekindle's code in jobs/" in refusal(root)
    (root / "jobs").mkdir()
    assert "has none of Rekindle's code in jobs/" in refusal(root)


def test_half_an_installation_is_its_own_and_where_nothing_is_there_is_nothing(home):
    assert find_own_root("~/rekindle") is None
    (home / "rekindle").mkdir()
    assert find_own_root("~/rekindle") is None
    (home / "rekindle/tmp/ansible").mkdir(parents=True)
    assert find_own_root("~/rekindle") == home / "rekindle"


def test_runs_logs_and_whole_environments_are_packed(root):
    packed = pack_last_copy(root)
    assert [part["name"] for part in packed["parts"]] == ["logs", "runs/toy-0123456789ab"]
    run = packed["parts"][1]
    assert sorted(run["files"]) == ["spec.json", "verdict.json"]
    assert run["files"]["verdict.json"] == hashlib.sha256(b"PASS").hexdigest()
    with tarfile.open(Path(packed["place"], run["archive"])) as archive:
        assert sorted(archive.getnames()) == ["spec.json", "verdict.json"]
    assert packed["environments"] == [BUILT]


def test_what_is_too_large_is_named(root):
    with (root / "runs/toy-0123456789ab/model.pt").open("wb") as model:
        model.truncate((16 << 20) + 1)
    part = pack_last_copy(root)["parts"][1]
    assert part["left"] == {"model.pt": (16 << 20) + 1}
    assert sorted(part["files"]) == ["left.json", "spec.json", "verdict.json"]


def test_what_its_owner_may_not_read_is_named_and_nothing_is_left_aside(root, monkeypatch):
    closed = PackedFiles({}, {"log.txt": "Permission denied"}, ["log.txt"])
    monkeypatch.setattr(removal, "pack_folder", lambda folder, target: closed)
    why = r"cannot be packed: Permission denied\. Fix: make it readable for its owner\.$"
    with pytest.raises(RetireError, match=rf"^{root}/logs/log\.txt {why}"):
        pack_last_copy(root)
    assert {path.name for path in (root / "tmp").iterdir()} == {"torchelastic"}


def test_on_a_full_disk_the_copy_is_packed_elsewhere(root, monkeypatch):
    real = removal.pack_folder

    def full(folder, target):
        if target.is_relative_to(root):
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        return real(folder, target)

    monkeypatch.setattr(removal, "pack_folder", full)
    packed = pack_last_copy(root)
    assert packed["place"].startswith("/dev/shm/rekindle-")
    assert not list((root / "tmp").glob("rekindle-*"))
    shutil.rmtree(packed["place"])


def test_without_room_anywhere_it_fails_and_leaves_all_as_it_was(root, monkeypatch):
    def full(folder, target):
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(removal, "pack_folder", full)
    before = sorted(root.rglob("*"))
    with pytest.raises(RetireError, match=r"have no room for the copy\. Fix: "):
        pack_last_copy(root)
    assert sorted(root.rglob("*")) == before


def test_all_of_it_goes_and_nothing_beside_it(root, tmp_path):
    precious = tmp_path / "home" / "precious"
    precious.write_text("")
    (root / "cache" / "link").symlink_to(precious.parent)
    (root / "envs" / "read-only" / "deep").mkdir(parents=True)
    (root / "envs" / "read-only" / "deep").chmod(0)
    (root / "envs" / "read-only").chmod(0o500)
    remove_root(root)
    assert [path.name for path in precious.parent.iterdir()] == ["precious"]


def test_the_runs_own_tmpdir_elsewhere_goes_and_others_stay(root, tmp_path):
    for name in ("rekindle-lease", "theirs"):
        (tmp_path / "scratch" / name / "torchelastic").mkdir(parents=True)
        (root / f"runs/{name}").mkdir()
        (root / f"runs/{name}/spec.json").write_text(json.dumps({"tmpdir": str(tmp_path / "scratch" / name)}))
    remove_root(root)
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == ["theirs"]


def test_what_a_killed_collector_left_goes(root, home):
    for name in ("rekindle-0123456789abcdef", "rekindle-backups", "rekindle-0123456789abcdefg"):
        (home / name).mkdir()
        os.utime(home / name, (0, 0))
    (home / "rekindle-fedcba9876543210").mkdir()  # of a task that may still run
    remove_root(root)
    stays = {"rekindle-backups", "rekindle-0123456789abcdefg", "rekindle-fedcba9876543210"}
    assert {path.name for path in home.iterdir()} == stays


@pytest.mark.parametrize("at", range(1, 12))
def test_an_interrupted_removal_never_shows_half_a_run_and_continues(root, monkeypatch, at):
    whole = set(pack_last_copy(root)["parts"][1]["files"])
    calls = 0

    def until_it_is_cut(act):
        def cut(*args, **more):
            nonlocal calls
            calls += 1
            if calls == at:
                raise KeyboardInterrupt
            act(*args, **more)

        return cut

    with monkeypatch.context() as cutting:
        for name in ("unlink", "rmdir", "rename"):
            cutting.setattr(os, name, until_it_is_cut(getattr(os, name)))
        with pytest.raises(KeyboardInterrupt):
            remove_root(root)
    if found := find_own_root(str(root)):
        assert all(
            set(part["files"]) == whole for part in pack_last_copy(found)["parts"] if part["name"] != "logs"
        )
        remove_root(found)
    assert not root.exists()
