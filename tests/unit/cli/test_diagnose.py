# SPDX-License-Identifier: Apache-2.0
"""``rekindle diagnose``, as a person or a script calls it."""

import gzip
import io
import json
import os
from types import SimpleNamespace

import pytest


@pytest.fixture
def diagnose(call, monkeypatch):
    def run(*arguments, stdin=b""):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        return call("diagnose", *arguments)

    return run


def test_a_person_reads_the_root_cause_its_remedy_and_the_echoes(golden, diagnose, recordings, tmp_path):
    status, out, _ = diagnose(recordings / "nvflare-tf-mirrored-starved.log")
    assert status == 1
    (tmp_path / "server.log").write_text("shareable data is not a valid DXO.")
    (tmp_path / "site.log").write_text("CUDA error: invalid device ordinal")
    _, together, _ = diagnose(tmp_path / "server.log", tmp_path / "site.log")
    status, echoes, _ = diagnose(stdin=b"shareable data is not a valid DXO.")
    assert status == 1
    golden(*(out + together + echoes).splitlines())


def test_a_folder_that_may_not_be_read_is_told_as_that(diagnose, monkeypatch, tmp_path):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.iterdir", refuse)
    status, _, error = diagnose(tmp_path)
    assert (status, error) == (
        2,
        f"{tmp_path} cannot be read: Permission denied. Fix: see its rights: ls -ld.\n",
    )


def test_a_program_reads_json(diagnose, recordings):
    status, out, _ = diagnose(recordings / "nvflare-tf-mirrored-starved.log", "--json")
    (found,) = json.loads(out)
    assert status == 1
    assert (found["cause"]["name"], found["cause"]["line"]) == ("gpu_memory_taken", 67)
    assert all(finding["echo"] for finding in found["others"])
    assert found["timeline"][0]["line"] == 67


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_standard_input_is_a_log(diagnose, arguments):
    status, out, _ = diagnose(*arguments, stdin=b"x\nModuleNotFoundError: No module named 'tenseal'\n")
    assert status == 1
    assert "seen: standard input:2" in out


def test_the_end_of_a_long_standard_input_is_read(diagnose, monkeypatch):
    monkeypatch.setattr("rekindle.doctor.texts.LIMIT", 4096)
    status, out, _ = diagnose(stdin=b"fine\n" * 10_000 + b"ModuleNotFoundError: No module named 'tenseal'\n")
    assert status == 1
    assert "seen: standard input:10001" in out


def test_a_clean_run_ends_with_status_0(diagnose, recordings):
    status, out, _ = diagnose(recordings / "runs/pt_ddp-cpu-2")
    assert (status, out[:13]) == (0, "Nothing found")
    status, out, _ = diagnose("--json", stdin=b"\x00\xff well\n")
    assert (status, json.loads(out)[0]["cause"]) == (0, None)


def test_bad_input_is_one_sentence_and_status_2(diagnose, tmp_path):
    for path in (tmp_path, tmp_path / "nothing"):
        status, out, err = diagnose(path)
        assert (status, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert "Fix: " in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "standard input is empty. Fix: "),
        (b"\n \n", "standard input is empty. Fix: "),
        (
            gzip.compress(b"ImportError: bad\n" + os.urandom(999)),
            "standard input is no text. Fix: decompress it",
        ),
    ],
)
def test_what_is_no_log_is_refused(diagnose, content, message):
    status, out, err = diagnose(stdin=content)
    assert (status, out, err[: len(message)]) == (2, "", message)


def test_control_characters_of_a_log_do_not_reach_the_terminal(diagnose):
    _, out, _ = diagnose(stdin=b"ImportError: \x1b]0;title\x07\x1b[2J bad\n")
    assert "\x1b" not in out
