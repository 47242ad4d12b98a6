# SPDX-License-Identifier: Apache-2.0
"""From what a recorded host answered the collector to its host.json, or to why there is none."""

import shlex
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from rekindle.hostfacts.frames import FactsError, ask_frames
from rekindle.records import HostRecord, dump_builtins, read_record, write_record
from rekindle.records.stages import PlaybookRecord

RECORDED = "0123456789abcdef"
"""The nonce of the recording."""
ARGS = {
    **{"root": "~/rekindle", "tmpdir": "/tmp", "gpus_required": True, "min_free_gb": 1},
    **{"gpus": [], "slurm": {}, "python_archive": ""},
}


@pytest.fixture
def collect(load, tmp_path, recordings):
    """Collect from a host that answers as ``change`` makes it of the recording."""
    raw = (recordings / "h200-x2-collect.txt").read_text()

    def run(change=lambda text: text, rc=0, again=lambda text: text, **more):
        asked = []

        def execute(command, sudoable, in_data):
            asked.append((command, sudoable, in_data))
            nonce = shlex.split(command)[5]
            printed = (again if len(asked) > 1 else change)(raw)
            return {"rc": rc, "stdout": printed.replace(RECORDED, nonce), "stderr": " no\n shell "}

        result = load("collect_facts").run(
            {**ARGS, "dest": str(tmp_path), **more}, host="lease-1", _low_level_execute_command=execute
        )
        return result, asked

    return run


def test_a_host_is_asked_once_and_written_down(collect, tmp_path):
    result, ((command, sudoable, script),) = collect()
    host = read_record(tmp_path / "host.json", HostRecord)
    assert result == {"changed": False, "host": dump_builtins(host), "warnings": []}
    assert (host.host, len(host.gpus)) == ("lease-1", 2)
    room = f"REKINDLE_ROOM={ARGS['min_free_gb']}000000000"
    assert shlex.split(command)[:5] == ["env", room, "sh", "-s", "--"]
    assert shlex.split(command)[6:] == ["~/rekindle", "/tmp", "20"]
    assert sudoable is False
    assert script.startswith(b"#!/bin/sh")


def test_only_the_gpus_that_are_asked_for_are_written_down(collect, tmp_path):
    collect(gpus=[1])
    assert [gpu.index for gpu in read_record(tmp_path / "host.json", HostRecord).gpus] == [1]
    refused = collect(gpus=[2])[0]
    assert refused["failed"]
    assert refused["msg"].startswith("rekindle_gpus asks for GPU 2, and lease-1 has 0 (GPU-")
    refused = collect(gpus=[1], slurm={"partition": "gpu"})[0]
    assert refused["msg"].startswith("rekindle_gpus is set, and SLURM chooses the GPUs. Fix: ")


def only(text, *names, limit="60"):
    """Leave only these frames of an answer, of a collector with another limit."""
    frames = text.split("@@")[1:]
    kept = [frame for frame in frames if frame.split()[1] in (*names, "end")]
    return f"@@{RECORDED} limit 0\n{limit}\n" + "".join(f"@@{frame}" for frame in kept)


def late(text, *names):
    """Have these probes given up, with nothing said."""
    return "".join(
        f"@@{RECORDED} {frame.split()[1]} timeout\n\n" if frame.split()[1] in names else f"@@{frame}"
        for frame in text.split("@@")[1:]
    )


def test_a_probe_that_was_late_is_tried_once_more_with_more_time(collect):
    healthy = collect()[0]["host"]
    slow = ("pythons", "disk-root")
    result, asked = collect(lambda text: late(text, *slow), again=lambda text: only(text, *slow))
    assert {**result["host"], "collected": ""} == {**healthy, "collected": ""}
    first, second = (shlex.split(command)[6:] for command, _, _ in asked)
    assert first == ["~/rekindle", "/tmp", "20"]
    assert second == ["~/rekindle", "/tmp", "60", *slow]


def test_a_host_that_stays_slow_does_not_lack_a_python(golden, collect, tmp_path):
    again = lambda text: late(only(text, "pythons"), "pythons")  # noqa: E731
    slow, asked = collect(lambda text: late(text, "pythons"), again=again)
    assert len(asked) == 2
    assert read_record(tmp_path / "host.json", HostRecord).pythons == ()
    broken, _ = collect(lambda text: late(text, "pythons"), again=lambda text: text[:200])
    golden(slow["msg"], broken["msg"])


def test_a_python_that_is_slow_once_is_found(load, shell, tmp_path, monkeypatch):
    """By the collector itself, of a Python that hangs at its first call and answers at its second."""
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "python3.12"
    fake.write_text(
        f"#!/bin/sh\nmkdir {tmp_path}/called 2>/dev/null && sleep 600\n"
        'echo \'{"path": "/slow/python3.12", "version": "3.12.77"}\'\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=":")
    monkeypatch.setattr("rekindle.hostfacts.frames.LIMITS_S", (1, 600))
    here = {"root": f"{tmp_path}/root", "tmpdir": str(tmp_path), "gpus_required": False, "min_free_gb": 0}
    args = {**ARGS, **here, "dest": str(tmp_path)}
    result = load("collect_facts").run(args, _low_level_execute_command=shell)
    assert "/slow/python3.12" in [python["path"] for python in result["host"]["pythons"]], result


def test_each_question_has_a_nonce_of_its_own(collect):
    assert collect()[1][0][0] != collect()[1][0][0]


@pytest.mark.parametrize(
    "answer",
    [
        {"rc": 1, "change": lambda text: ""},
        {"change": lambda text: text[:2000]},
        {"change": lambda text: ""},
        {"change": lambda text: text.replace("MemTotal", "MemNone")},
        {"root": "rekindle\u00e9"},
    ],
    ids=["failed", "cut", "empty", "no memory", "root"],
)
def test_an_answer_that_is_none_fails_and_nothing_is_written(golden, collect, tmp_path, answer):
    result, _ = collect(**answer)
    assert result["failed"]
    golden(result["msg"])
    assert not (tmp_path / "host.json").exists()


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("sh: 21894: Cannot fork", "raise nproc"),
        ('Please login as the user "ubuntu".', "log in as this user by hand"),
        ("", "it printed nothing. Fix: log in"),
    ],
)
def test_what_a_login_says_that_runs_nothing_is_told(said, fix):
    answer = {"rc": 254, "stdout": said, "stderr": ""}
    with pytest.raises(FactsError) as refused:
        ask_frames(lambda *_, **__: answer, "/r", "/t")
    assert f"(status 254): {said}" in str(refused.value)
    assert fix in str(refused.value)


def test_a_whole_answer_counts_whatever_the_login_shell_ends_with(collect):
    assert "failed" not in collect(rc=1)[0]


def test_an_answer_that_makes_no_sense_fails(collect, tmp_path, monkeypatch):
    printed = "The host's answer is invalid: 1e999. Fix: do not trust that host."
    for error in (ValueError, RecursionError):

        def refuse(*_, error=error):
            raise error("1e999")

        monkeypatch.setattr("rekindle.hostfacts.record.make_host_record", refuse)
        assert collect()[0]["msg"] == printed
    assert not (tmp_path / "host.json").exists()


def test_a_host_that_lacks_what_it_needs_fails_and_is_written_down(collect, tmp_path):
    result, _ = collect(min_free_gb=10_000_000)
    assert result["failed"]
    assert "host" not in result
    assert "Fix: " in result["msg"]
    assert read_record(tmp_path / "host.json", HostRecord).host == "lease-1"


def test_arguments_that_are_no_such_thing_are_refused(collect):
    with pytest.raises(Exception, match="min_free_gb"):
        collect(min_free_gb="much")


def test_the_inventorys_python_is_tried_and_our_own_default_is_not(load, shell, tmp_path):
    here = {"root": f"{tmp_path}/root", "tmpdir": str(tmp_path), "gpus_required": False, "min_free_gb": 0}
    asked = []

    def run(execute, named):
        action = load("collect_facts").make(
            {**ARGS, **here, "dest": str(tmp_path)}, _low_level_execute_command=execute,
            _templar=SimpleNamespace(template=lambda text: text),
        )  # fmt: skip
        return action.run(task_vars={"inventory_hostname": "here", "ansible_python_interpreter": named})

    def refuse(command, **_):
        asked.append("REKINDLE_PYTHON=" in command)
        return {"rc": 1, "stdout": "", "stderr": ""}

    for named in ("/opt/none/python", "{{ _rekindle_found.python }}", "auto"):
        run(refuse, named)
    assert asked == [True, False, False]
    assert "ansible_python_interpreter cannot be used" in run(shell, "/opt/none/python")["msg"]


@pytest.fixture
def once(shell):
    """Return what runs the collector here, and answers as then for the nonce of each later question."""
    answers = []

    def execute(command, **more):
        nonce = shlex.split(command)[5]
        if not answers:
            answers.append((nonce, shell(command, **more)))
        first, answer = answers[0]
        return {**answer, "stdout": answer["stdout"].replace(first, nonce)}

    return execute


def test_a_machine_that_this_run_found_under_another_name_is_refused(load, once, tmp_path):
    here = {"root": f"{tmp_path}/root", "tmpdir": str(tmp_path), "gpus_required": False, "min_free_gb": 0}
    play = PlaybookRecord(run="r", started="2026-11-28T05:30:00Z", hosts=("a", "b"),
                          began=dict.fromkeys("ab", "2026-11-28T05:30:00Z"))  # fmt: skip
    write_record(tmp_path / "run.json", play)

    def says(name):
        args = {**ARGS, **here, "dest": str(tmp_path / name)}
        action = load("collect_facts").make(args, _low_level_execute_command=once)
        result = action.run(task_vars={"inventory_hostname": name, "ansible_play_hosts_all": ["a", "b"]})
        return result.get("msg", "")

    assert "same machine" not in says("a")
    found = read_record(tmp_path / "a/host.json", HostRecord)
    for collected, refused in (("2026-11-28T06:00:00Z", True), ("2026-11-28T05:00:00Z", False)):
        write_record(tmp_path / "a/host.json", replace(found, collected=collected))
        assert ("b is the same machine as a" in says("b")) is refused
