# SPDX-License-Identifier: Apache-2.0
"""The Python that the controller brings: fetched once, checked always, unpacked whole or not at all."""

import hashlib
import platform
import shutil
import sys
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from msgspec.structs import replace
from runners.commands import capture_command

from rekindle.capsule import python
from rekindle.records import Python, RecordError

NAME = "cpython-3.12.16+20261110-x86_64-unknown-linux-gnu-install_only.tar.gz"
VERSION = platform.python_version()


@pytest.fixture
def archived(tmp_path):
    """Return an archive whose Python is a link to the one that runs this, as it is planned for a host."""
    program = tmp_path / "made" / "python" / "bin" / "python3"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    path = tmp_path / NAME
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "made" / "python", "python")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    there = tmp_path / "root" / "pythons" / digest[:12] / "bin" / "python3"
    return Python(path=str(there), version=VERSION, archive=str(path), sha256=digest)


@pytest.fixture
def bring():
    """Bring it to this machine, as if it were the host."""

    def execute(line):
        done = capture_command(["sh", "-c", line])
        return {"rc": done.returncode, "stdout": done.stdout, "stderr": done.stderr}

    return partial(python.bring_python, wheelhouse=None, execute=execute, put_file=shutil.copyfile)


def test_it_is_unpacked_once(archived, bring, tmp_path):
    assert bring(archived) is True
    assert bring(archived) is False
    assert [path.name for path in (tmp_path / "root" / "pythons").iterdir()] == [archived.sha256[:12]]


def test_one_that_was_cut_off_is_unpacked_again(archived, bring, tmp_path):
    bring(archived)
    (tmp_path / "root" / "pythons" / archived.sha256[:12] / "bin" / "python3").unlink()
    assert bring(archived) is True


def test_one_that_does_not_run_there_is_a_sentence(archived, bring):
    with pytest.raises(RecordError, match=r"^Python 3\.12\.99 was brought to \S+ and does not run there: "):
        bring(replace(archived, version="3.12.99"))


def test_an_altered_archive_is_not_brought(archived, bring, tmp_path):
    (tmp_path / NAME).write_bytes(b"x")
    with pytest.raises(RecordError, match=f"and {archived.sha256} is expected"):
        bring(archived)
    assert not (tmp_path / "root" / "pythons" / archived.sha256[:12]).exists()


def test_a_file_that_is_missing_is_a_sentence(archived):
    with pytest.raises(RecordError, match="cannot be read: No such file"):
        python.fetch_python(replace(archived, archive=f"/nowhere/{NAME}"))


@pytest.fixture
def served(archived, tmp_path):
    """Return it as one that a server on this machine has."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/{NAME.replace('+', '%2B')}"
    yield replace(archived, archive=url)
    server.shutdown()
    server.server_close()


def test_a_url_is_fetched_once_and_kept(served, state, tmp_path):
    kept = python.fetch_python(served)
    (tmp_path / NAME).unlink()
    assert kept == python.fetch_python(served) == state / "python" / served.sha256[:12] / NAME


def test_an_altered_download_is_refused_and_not_kept(served, state):
    planned = replace(served, sha256="1" * 64)
    with pytest.raises(RecordError, match=f"^http://.* and {'1' * 64} is expected"):
        python.fetch_python(planned)
    assert not (state / "python" / planned.sha256[:12] / NAME).exists()


def test_a_download_that_breaks_off_is_a_sentence(served, monkeypatch):
    monkeypatch.setattr(SimpleHTTPRequestHandler, "copyfile", lambda self, source, output: output.write(b"x"))
    with pytest.raises(RecordError, match=r"cannot be fetched from http://.*IncompleteRead"):
        python.fetch_python(replace(served, sha256="2" * 64))


def test_a_url_that_nobody_answers_is_a_sentence(archived):
    with pytest.raises(RecordError, match=r"cannot be fetched from http://127\.0\.0\.1:1/.*refused"):
        python.fetch_python(replace(archived, archive=f"http://127.0.0.1:1/{NAME}", sha256="0" * 64))


def test_a_wheelhouse_carries_it(archived, tmp_path):
    wheelhouse = tmp_path / "wheelhouse"
    wheelhouse.mkdir()
    python.bundle_python(archived, wheelhouse)
    kept = python.fetch_python(replace(archived, archive=f"/nowhere/{NAME}"), wheelhouse)
    assert kept.parent.parent == wheelhouse
