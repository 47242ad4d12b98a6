# SPDX-License-Identifier: Apache-2.0
"""Records: strict, versioned, and one sentence when they are broken."""

import json
import re

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace
from samples.hosts import built

from rekindle import records
from rekindle.records.base import require_folder


def _run():
    return records.PlaybookRecord(run="r", started="2026-11-21T02:00:00Z", hosts=("a", "b"))


def test_a_record_comes_back_as_it_was_written(tmp_path):
    records.write_record(tmp_path / "deep" / "run.json", _run())
    assert records.read_record(tmp_path / "deep" / "run.json", records.PlaybookRecord) == _run()


def test_what_is_written_fits_the_published_schema(tmp_path):
    records.write_record(tmp_path / "run.json", _run())
    jsonschema.validate(
        json.loads((tmp_path / "run.json").read_text()), msgspec.json.schema(records.PlaybookRecord)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "rekindle/plan/2"}, "Invalid enum value 'rekindle/plan/2' - at `$.schema`"),
        ({"hostz": []}, "unknown field `hostz`"),
        ({"hosts": "a"}, "Expected `array`, got `str` - at `$.hosts`"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(tmp_path, change, message):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**msgspec.to_builtins(_run()), **change}))
    with pytest.raises(records.RecordError, match="Fix:") as error:
        records.read_record(path, records.PlaybookRecord)
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[]", b'{"hosts": ' + b"[" * 200_000, b'{"run": "' + b"x" * 9_000_000],
)
def test_what_is_no_record_is_refused(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(records.RecordError, match="is not a valid PlaybookRecord"):
        records.read_record(path, records.PlaybookRecord)


def test_a_failed_write_leaves_the_old_record(tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    records.write_record(path, _run())

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", broken)
    with pytest.raises(OSError, match="disk full"):
        records.write_record(path, _run())
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("bomb", ["[" * 100_000, '{"a":' * 100_000, "[" * 5000 + "]" * 5000])
def test_a_record_of_a_host_that_is_nested_without_end_is_one_sentence(tmp_path, bomb):
    path = tmp_path / "env.json"
    path.write_text('{"host": "h", "environments": [{"probe": {"a": ' + bomb)
    with pytest.raises(records.RecordError, match=r"is not a valid EnvRecord.*Fix:"):
        records.read_record(path, records.EnvRecord)


@pytest.mark.parametrize("lock", ["../x", "/etc/passwd", "a/b", ".hidden", "-x", "a\n", "", "x" * 201])
def test_a_lock_that_a_host_names_is_no_path(lock):
    assert msgspec.convert(built(lock="torch-2.9.1-cpu.txt"), records.Environment)
    with pytest.raises(msgspec.ValidationError, match=r"\$\.lock"):
        msgspec.convert(built(lock=lock), records.Environment)


def test_a_text_whose_methods_return_its_own_kind_is_a_text(tmp_path):
    class Unsafe(str):  # as Ansible's were before 2.19
        def encode(self, *_):
            return UnsafeBytes(super().encode())

    class UnsafeBytes(bytes):
        def decode(self, *_):
            return Unsafe(super().decode())

    run = replace(_run(), run=Unsafe("é"))
    assert type(records.dump_builtins(run)["run"]) is str
    records.write_record(tmp_path / "run.json", run)
    assert records.read_record(tmp_path / "run.json", records.PlaybookRecord).run == "é"


def test_what_is_no_folder_is_named_as_what_it_is(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "run.tar.gz").touch()
    (tmp_path / "latest").symlink_to(tmp_path / "gone")
    says = {
        "none": "does not exist",
        "file": "is not a folder",
        "run.tar.gz": "is an archive",
        "latest": f"is a link to {tmp_path / 'gone'}, which is not there",
    }
    for name, what in says.items():
        with pytest.raises(records.RecordError, match=f"^{re.escape(f'{tmp_path / name} {what}.')} Fix: "):
            require_folder(tmp_path / name)
    require_folder(tmp_path)
