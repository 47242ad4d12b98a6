# SPDX-License-Identifier: Apache-2.0
"""What comes back from a host is untrusted."""

import gzip
import io
import os
import subprocess
import sys
import tarfile

import pytest
from archives import names

from rekindle.records import Complaint
from rekindle.results import archive


def _tar(path, *members, **options):
    with tarfile.open(path, "w:gz", **options) as stream:
        for member, data in members:
            member.size = len(data)
            stream.addfile(member, io.BytesIO(data))
    return path


def _member(name, kind=tarfile.REGTYPE, link=""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def _is_refused(path, home, match):
    with pytest.raises(Complaint, match=match) as caught:
        archive.unpack_archive(path, home)
    assert str(caught.value).isprintable()
    assert names(home.parent) == {"pt_ddp/older"}
    assert list(home.parent.iterdir()) == [home]


def test_many_folders_in_a_small_archive_are_refused(tmp_path, home):
    path = _tar(tmp_path / "a.tar.gz", *((_member(f"{n}/" * 10 + "x"), b"") for n in range(1000)))
    assert path.stat().st_size < 40_000
    _is_refused(path, home, "more than 10000 files and folders")


def test_what_a_killed_collector_left_is_removed_and_what_one_is_at_stays(tmp_path, home):
    path = _tar(tmp_path / "a.tar.gz", (_member("a"), b"1"))
    (home.parent / ".pt_ddp.killed" / "new").mkdir(parents=True)
    (home.parent / ".other.killed").mkdir()
    with archive._aside(home) as at_work:
        archive.unpack_archive(path, home)
        assert {entry.name for entry in home.parent.iterdir()} == {"pt_ddp", ".other.killed", at_work.name}
    assert names(home) == {"a"}


def test_two_unpack_one_run_at_once(tmp_path, home):
    path = _tar(tmp_path / "a.tar.gz", *((_member(str(n)), b"1") for n in range(200)))
    code = "import sys; from pathlib import Path; from rekindle.results.archive import unpack_archive\n"
    code += "for _ in range(20): unpack_archive(*map(Path, sys.argv[1:]))"
    both = [subprocess.Popen([sys.executable, "-c", code, path, home]) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(names(home)) == 200
    assert list(home.parent.iterdir()) == [home]


@pytest.mark.parametrize(
    "member",
    [
        _member("../outside"),
        _member("a/../../outside"),
        _member("a/./b"),
        _member("a//b"),
        _member(".."),
        _member("/tmp/rekindle-outside"),
        _member("back\\slash"),
        _member("line\nbreak"),
        _member("\x1b]0;title\x07"),
        _member("turned\u202eround"),
        _member("x" * 256),
        _member("x/" * 600 + "x"),
        _member("folder", tarfile.DIRTYPE),
        _member("link", tarfile.SYMTYPE, "/etc"),
        _member("hard", tarfile.LNKTYPE, "/etc/passwd"),
        _member("device", tarfile.CHRTYPE),
        _member("disk", tarfile.BLKTYPE),
        _member("pipe", tarfile.FIFOTYPE),
        _member("sparse", tarfile.GNUTYPE_SPARSE),
    ],
    ids=lambda member: ascii(member.name[:20]),
)
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_nothing_is_written_outside_of_the_folder(tmp_path, home, member, form):
    path = _tar(tmp_path / "a.tar.gz", (_member("good"), b"1"), (member, b""), format=form)
    _is_refused(path, home, r"The host sent .*, which no run packs\. Fix:")


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (("a", "a"), "cannot be unpacked.*Fix:"),
        (("a", "a/b"), "cannot be unpacked.*Fix:"),
        (("x/" * 40 + "x",), "40 folders in each other"),
    ],
)
def test_names_that_exclude_each_other_or_lie_too_deep_are_refused(tmp_path, home, names, match):
    path = _tar(tmp_path / "a.tar.gz", *((_member(name), b"1") for name in names))
    _is_refused(path, home, match)


def test_a_link_where_the_run_goes_is_replaced_and_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    (tmp_path / "pt_ddp").symlink_to(elsewhere)
    archive.unpack_archive(_tar(tmp_path / "a.tar.gz", (_member("a"), b"1")), tmp_path / "pt_ddp")
    assert names(tmp_path / "pt_ddp") == {"a"}
    assert not (tmp_path / "pt_ddp").is_symlink()
    assert [path.name for path in elsewhere.iterdir()] == ["deep"]


def test_a_gigabyte_of_zeros_in_a_small_file_is_refused(tmp_path, home):
    header = _member("zeros")
    header.size = 1 << 30
    path = tmp_path / "a.tar.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(1 << 10):
            stream.write(bytes(1 << 20))
    assert path.stat().st_size < 6 << 20
    _is_refused(path, home, r"'zeros' of 1073741824 bytes")


def _header(name="name", kind=tarfile.GNUTYPE_LONGNAME, size=1):
    header = _member(name, kind)
    header.size = size
    return header.tobuf(tarfile.GNU_FORMAT)


def _below_zero():
    block = bytearray(_header("a", tarfile.REGTYPE))
    block[124:136] = b"\xff" * 12
    block[148:156] = b"%06o\0 " % (256 + sum(block[:148]) + sum(block[156:]))
    return bytes(block)


LONG_NAME = _header() + b"x".ljust(512, b"\0")
HOSTILE = {
    "a gigabyte in a name": (_header(size=1 << 30), "which no run packs"),
    "a gigabyte in a link's name": (_header("n", tarfile.GNUTYPE_LONGLINK, 1 << 30), "which no run packs"),
    "a gigabyte of pax": (_header("n", tarfile.XHDTYPE, 1 << 30), "which no run packs"),
    "names upon names": (LONG_NAME * 5000, "cannot be unpacked"),
    "a name without its file": (LONG_NAME + bytes(1024), "cannot be unpacked.*Fix:"),
    "a size below zero": (_below_zero(), "of -1 bytes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_headers_that_no_run_packs_are_refused(tmp_path, home, name):
    blocks, match = HOSTILE[name]
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(blocks))
    _is_refused(path, home, match)


@pytest.mark.parametrize(("limit", "value"), [("FILES_LIMIT", 3), ("TOTAL_LIMIT", 3000)])
def test_many_files_are_refused(tmp_path, monkeypatch, home, limit, value):
    monkeypatch.setattr(archive, limit, value)
    path = _tar(tmp_path / "a.tar.gz", *((_member(str(n)), bytes(1000)) for n in range(4)))
    _is_refused(path, home, "more than")


def test_an_archive_cut_off_anywhere_is_one_sentence(tmp_path, home):
    path = _tar(tmp_path / "a.tar.gz", *((_member(name), os.urandom(600)) for name in "abc"))
    complete = path.read_bytes()
    for length in range(0, len(complete) - 40, 97):
        path.write_bytes(complete[:length])
        _is_refused(path, home, "cannot be unpacked.*Fix:")
    blocks = gzip.decompress(complete)
    for length in range(0, 3 * 1536, 512):
        path.write_bytes(gzip.compress(blocks[:length]))
        _is_refused(path, home, "cannot be unpacked.*Fix:")


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", b"no archive", os.urandom(2000), bytes(10240)])
def test_a_file_that_is_no_archive_is_one_sentence(tmp_path, home, content):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(content)
    _is_refused(path, home, "cannot be unpacked.*Fix:")


def test_headers_of_any_other_type_are_refused(tmp_path, home):
    path = tmp_path / "a.tar.gz"
    for kind in {bytes([number]) for number in range(1, 256)} - {b"0", b"L"}:
        path.write_bytes(gzip.compress(_member("a", kind).tobuf(tarfile.GNU_FORMAT) + bytes(1024)))
        _is_refused(path, home, "which no run packs")
