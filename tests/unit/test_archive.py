"""What comes back from a host is untrusted."""

import io
import tarfile

import pytest

from rekindle import archive


def _tar(path, *members):
    with tarfile.open(path, "w:gz") as stream:
        for member, data in members:
            member.size = len(data)
            stream.addfile(member, io.BytesIO(data))
    return path


def _member(name, kind=tarfile.REGTYPE, link=""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def test_a_run_comes_home_whole_but_for_large_files_and_links(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_FILE_LIMIT", 100)
    run = tmp_path / "pt_ddp"
    (run / "evidence").mkdir(parents=True)
    (run / "evidence" / "a.jsonl").write_text("{}")
    (run / "model.pt").write_bytes(b"0" * 101)
    (run / "secret").symlink_to("/etc/passwd")
    archive.unpack(archive.pack(run), tmp_path / "home")
    assert [path.name for path in (tmp_path / "home").rglob("*") if path.is_file()] == ["a.jsonl"]


@pytest.mark.parametrize(
    "member",
    [
        _member("../outside"),
        _member("a/../../outside"),
        _member("/tmp/rekindle-outside"),
        _member("link", tarfile.SYMTYPE, "/etc"),
        _member("hard", tarfile.LNKTYPE, "/etc/passwd"),
        _member("device", tarfile.CHRTYPE),
        _member("pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda member: member.name,
)
def test_nothing_is_written_outside_of_the_folder(tmp_path, member):
    home = tmp_path / "in" / "home"
    path = _tar(tmp_path / "a.tar.gz", (member, b""))
    with pytest.raises(archive.ArchiveError, match="Fix:"):
        archive.unpack(path, home)
    assert not [one for one in (tmp_path / "in").rglob("*") if one != home]


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_TOTAL_LIMIT", 1 << 20)
    path = _tar(tmp_path / "a.tar.gz", (_member("zeros"), bytes(2 << 20)))
    with pytest.raises(archive.ArchiveError, match="too much"):
        archive.unpack(path, tmp_path / "home")
    assert not list((tmp_path / "home").iterdir())


def test_a_cut_off_archive_is_one_sentence(tmp_path):
    path = _tar(tmp_path / "a.tar.gz", (_member("a"), b"x" * 5000))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(archive.ArchiveError, match="cannot be unpacked"):
        archive.unpack(path, tmp_path / "home")
