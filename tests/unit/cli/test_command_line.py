# SPDX-License-Identifier: Apache-2.0
"""What every verb of ``rekindle`` has in common: its help, its JSON, its statuses, and poor terminals."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace
from runners.commands import capture_command
from samples.folders import FAIL, add_host, fill, three_hosts

from rekindle.capsule.wheelhouse import LockBundle
from rekindle.cli.verbs import HELP, load_verb

NAMES = [name for name in HELP if name != "schema"]


def process(*arguments, stdout=subprocess.PIPE, **environ):
    """Run ``rekindle`` as a process of its own."""
    command = [sys.executable, "-c", "import sys; from rekindle import cli; sys.exit(cli.main())"]
    return subprocess.run(
        [*command, *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **environ},
        check=False,
    )


@pytest.mark.parametrize("name", [*NAMES, "schema"])
def test_help_has_examples_and_statuses(call, name):
    status, out, _ = call(name, "--help")
    assert status == 0
    assert f"  rekindle {name} " in out[out.index("Examples:") : out.index("Exit status:")]
    statuses = [line.split()[0] for line in out[out.index("Exit status:") :].splitlines()[1:3]]
    assert statuses in (["0", "1"], ["0", "2"])
    assert not {"╭", "│"} & {*out}


@pytest.mark.parametrize("arguments", [["--version"], ["diagnose"], ["verify", "."], ["diff", ".", "."]])
def test_a_call_does_not_wait_for_pydantic(arguments):
    script = "import sys; from rekindle import cli; cli.main(); print(*sys.modules, file=sys.stderr)"
    done = capture_command([sys.executable, "-c", script, *arguments], input="", check=True)
    assert "typer.main" in done.stderr.split()
    assert "pydantic" not in done.stderr.split()


def test_help_imports_no_verb():
    script = "import sys; from rekindle import cli; cli.main(); print(*sys.modules, file=sys.stderr)"
    done = capture_command([sys.executable, "-c", script, "--help"], check=True)
    assert [name for name in HELP if f"\n  {name} " not in done.stdout] == []
    imported = set(done.stderr.split())
    assert not {"ansible_runner", "rich.table", "jinja2", "rekindle.judge", "rekindle.cli.plan"} & imported


def test_a_verb_is_called_as_it_is_named():
    assert [load_verb(name).name for name in HELP] == [*HELP]


def test_version(call):
    status, out, _ = call("--version")
    assert (status, out) == (0, "rekindle 0.2.0\n")


def test_called_wrongly_is_one_sentence_and_2(golden, call):
    wrong = (["jugde"], ["diff"], ["judge", ".", "--jsn"], ["schema", "jugde"])
    answers = [call(*arguments) for arguments in wrong]
    assert {(status, out, err.count("\n")) for status, out, err in answers} == {(2, "", 1)}
    golden(*(err.strip() for *_, err in answers))


def test_alone_it_prints_its_help_and_h_is_help(call):
    assert call() == call("-h") == call("--help")
    assert call()[0] == 0
    for name in HELP:
        assert call(name, "-h") == call(name, "--help")


@pytest.mark.parametrize(
    "name", ["site", "site --check", "federate", "retire", "federate --status", "upgrade 2.9.0"]
)
def test_nothing_is_done_for_hosts_that_nobody_named(call, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANSIBLE_INVENTORY", raising=False)
    status, out, err = call(*name.split(), "-e", "budget=45m")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"Fix: type rekindle {name} -i lease_hosts" in err
    assert list(tmp_path.iterdir()) == []


def test_an_inventory_that_is_not_there_is_refused_beside_one_that_is(call, tmp_path):
    there = tmp_path / "hosts.yml"
    there.write_text("all: {hosts: {a: {ansible_connection: local}}}")
    status, out, err = call("site", "--check", "-i", there, "-i", tmp_path / "none.yml")
    message = f"{tmp_path}/none.yml is not there, so nothing would be done for its hosts. Fix: "
    assert (status, out, err[: len(message)]) == (2, "", message)


def test_a_federation_that_is_none_is_refused(tmp_path):
    (tmp_path / "hosts.yml").write_text("all: {hosts: {a: {ansible_connection: local}}}")
    done = process("federate", "--status", "-i", tmp_path / "hosts.yml", "--json")
    assert done.returncode == 2
    assert "no federation" in json.loads(done.stdout)["message"]
    assert done.stderr.endswith(b"Fix: put hosts into both, and run rekindle federate.\n")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "diagnose"])
def test_with_json_a_refusal_is_json(call, name, monkeypatch, tmp_path):
    """Each verb is called in a folder that has nothing of what it wants."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANSIBLE_INVENTORY", raising=False)
    more = {"bundle": ["-o", "w"], "upgrade": ["2.9.0"]}.get(name, [])
    status, out, err = call(name, *more, "--json")
    refusal = json.loads(out)
    assert status == 2
    assert refusal["schema"] == "rekindle/refusal/1"
    assert err.startswith(refusal["message"])


LATEST = "results/latest"


def test_the_newest_results_are_read_where_none_are_named(call, results, monkeypatch):
    monkeypatch.chdir(results.parent)
    (results.parent / "run").mkdir()
    results.rename(results.parent / "run/1")
    (results.parent / "run").rename(results.parent / "results")
    (results.parent / "results/latest").symlink_to("1")
    for name in ("judge", "report", "board", "runs", "plan"):
        unnamed, named = (
            re.sub(r"T[\d:]+Z", "", call(*words, "--json")[1]) for words in ((name,), (name, LATEST))
        )
        assert unnamed == named != ""  # but for the moment of each
        assert "rekindle/refusal" not in call(name, "--json")[1]


def _calls(results, recordings):
    """Return calls of each verb, with answers of each kind."""
    env, host = recordings / "h200-x2/env.json", results / "gpu-1"
    other = results / "other.json"
    other.write_text(env.read_text().replace('"torch": "2', '"torch": "3'))
    return {
        "plan": [(recordings / "h200-x2",), (results,)],
        "judge": [(path,) for path in (results, host, host / "pt_ddp", recordings / "foreign/poc")],
        "diagnose": [(recordings / "nvflare-tf-mirrored-starved.log",), (recordings / "runs/pt_ddp-cpu-2",)],
        "diff": [(env, env), (env, other), (results, host), (results, results)],
        "report": [(results,), (results / "gpu-2",), (recordings / "foreign/poc",)],
        "verify": [(results,)],
    }


@pytest.mark.parametrize("name", ["plan", "judge", "diagnose", "diff", "report", "verify"])
def test_every_json_fits_its_schema(ask, results, recordings, name):
    for arguments in _calls(results, recordings)[name]:
        ask(name, *arguments)


def test_a_verb_of_two_answers_has_a_schema_for_each(call):
    schema = json.loads(call("schema", "site")[1])
    jsonschema.validate({"schema": "rekindle/check/1", "ready": True, "hosts": []}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema": "rekindle/board/1", "ready": True, "hosts": []}, schema)


def test_a_federation_is_shown_or_ended_and_not_both(call):
    status, _, err = call("federate", "--status", "--stop", "-i", "hosts")
    assert (status, "--status, --stop: it is one or the other." in err) == (2, True)


def test_json_of_a_bundle_is_apart_from_its_progress(call, results, monkeypatch):
    def bundle(plans, wheelhouse):
        print("torch.txt: 0 of 1 files are there")
        return [LockBundle("torch.txt", str(wheelhouse), len(plans), 1)]

    monkeypatch.setattr("rekindle.cli.bundle.bundle_wheels", bundle)
    status, out, err = call("bundle", results, "-o", "w", "--json")
    assert (status, err) == (0, "torch.txt: 0 of 1 files are there\n")
    found = json.loads(out)
    assert found[0]["files"] == 2
    jsonschema.validate(found, json.loads(call("schema", "bundle")[1]))


def test_report_takes_what_lies_in_a_results_folder_and_what_does_not(call, tmp_path, recordings):
    folder = three_hosts(tmp_path / "r")
    for path in (folder, folder / "gpu-1", folder / "gpu-1/pt_ddp"):
        (folder / "report.html").unlink(missing_ok=True)
        status, out, _ = call("report", path)
        assert status == 1
        assert out.endswith(f"{folder}/report.html\n")
        assert (folder / "report.html").is_file()
    alone = Path(shutil.copytree(folder / "gpu-1", tmp_path / "alone/gpu-1"))
    status, out, _ = call("report", alone)
    assert (status, "PASS" in out, "report.html" in out) == (0, True, False)
    status, out, _ = call("report", recordings / "foreign/poc")
    assert (status, "UNPROVEN" in out) == (1, True)
    assert not list((recordings / "foreign/poc").glob("report.html"))


def test_plan_and_diff_take_folders(call, results, recordings):
    assert call("plan", recordings / "h200-x2")[1].startswith("torch: ")
    assert call("plan", results)[1].startswith("gpu-1:\ntorch: ")
    assert call("diff", results, recordings / "h200-x2")[0] == 0
    shutil.copy(results / "gpu-1/env.json", results / "gpu-2/env.json")
    for name, arguments, message in (
        ("plan", [results / "gpu-1/pt_ddp"], "has no host.json. Fix:"),
        (
            "diff",
            [results, recordings / "h200-x2"],
            "has the env.json of 2 hosts: gpu-1, gpu-2. Fix: name one's folder.",
        ),
    ):
        status, _, err = call(name, *arguments)
        assert (status, message in err, err.count("\n")) == (2, True, 1)


def _of_version(path, version):
    found = json.loads(path.read_text())
    name, _, number = found["schema"].rpartition("/")
    path.write_text(json.dumps({**found, "schema": f"{name}/{version}", "unheard": 1}))
    return f"it is {name}/{version}, and this one reads {name}/{number}"


READS = {"judge": "alone/spec.json", "plan": "gpu-1/host.json", "diff": "gpu-1/env.json"}
READS["report"] = "run.json"


@pytest.mark.parametrize(("name", "record"), READS.items())
def test_a_record_of_another_version_is_named(call, results, name, record):
    shutil.copytree(results / "gpu-1/pt_ddp", results / "alone")
    message = _of_version(results / record, 9)
    folder = (results / record).parent
    status, out, err = call(name, folder, *([folder] if name == "diff" else []))
    assert (status, out, err.count("\n")) == (3, "", 1)
    assert "was written by another version of Rekindle" in err
    assert message in err


def test_a_report_on_a_verdict_of_another_version_is_unknown(call, tmp_path):
    folder = fill(tmp_path, "gpu-1", "gpu-2")
    add_host(folder, "gpu-1")
    add_host(folder, "gpu-2")
    assert call("report", folder)[0] == 0
    _of_version(folder / "gpu-2/pt_ddp/verdict.json", 9)
    assert call("report", folder)[0] == 3
    assert "another version of Rekindle" in (folder / "results.json").read_text()
    add_host(folder, "gpu-1", verdict=replace(FAIL, host="gpu-1"))
    assert call("report", folder)[0] == 1


@pytest.mark.parametrize(
    "environ", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_a_terminal_without_unicode_reads_plain_letters(recordings, results, environ):
    env, other = recordings / "h200-x2/env.json", results / "other.json"
    other.write_text(env.read_text().replace('"torch": "2', '"torch": "é'))
    for arguments, status, message in (
        (("report", results), 1, b"SKIPPED"),
        (("diff", env, other), 1, b" -> ?"),
        (("plan", f"{results}/–é"), 2, b" does not exist. Fix: "),
    ):
        done = process(*arguments, COLUMNS="60", **environ)
        assert done.returncode == status, done.stderr
        assert message in done.stdout + done.stderr
        assert (done.stdout + done.stderr).isascii()


@pytest.mark.parametrize(("columns", "widest"), [("60", 60), ("80", 80), ("1", 60), ("x", 120)])
def test_a_table_is_as_wide_as_the_terminal(call, monkeypatch, tmp_path, columns, widest):
    monkeypatch.setenv("COLUMNS", columns)
    status, out, err = call("report", three_hosts(tmp_path))
    assert (status, err) == (1, "")
    lines = out.rpartition("\n\n")[0].splitlines()
    typed = ("  next: ", "  seen: ")  # which nothing breaks, so that they can be copied
    assert max(len(line) for line in lines if not line.startswith(typed)) <= widest
    assert any("Final accuracy" in line for line in lines)


@pytest.mark.parametrize(
    "arguments", [("plan", "--json"), ("judge",), ("--help",), ("--version",), ("schema", "judge")]
)
def test_a_closed_pipe_changes_no_answer(recordings, arguments):
    folder = {"plan": "h200-x2", "judge": "foreign/poc"}.get(arguments[0])
    reader, writer = os.pipe()
    os.close(reader)
    done = process(*arguments, *([recordings / folder] if folder else []), stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (int(arguments == ("judge",)), b"")


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("schema", "judge")])
def test_a_full_disk_is_no_bad_answer(arguments):
    with Path("/dev/full").open("w") as full:
        done = process(*arguments, stdout=full)
    assert done.returncode == 3
    assert done.stderr.startswith(b"The output cannot be used: No space left on device. Fix: ")


def test_a_bug_is_no_bad_answer(call, monkeypatch, results):
    def fail(path):
        raise KeyError(path)

    monkeypatch.setattr("rekindle.cli.judge.judge_again", fail)
    status, _, err = call("judge", results / "gpu-1/pt_ddp")
    assert status == 3
    assert err.endswith("That is a bug of Rekindle. Fix: report the traceback above.\n")


@pytest.mark.parametrize(
    ("shell", "environ"),
    [
        ("bash", {"COMP_WORDS": "rekindle ju", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "rekindle ju"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "rekindle ju", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_shells_complete_verbs(shell, environ):
    done = process(_REKINDLE_COMPLETE=f"complete_{shell}", **environ)
    assert done.returncode == 0
    assert b"judge" in done.stdout
    assert b"plan" not in done.stdout


def test_a_results_folder_without_hosts_is_no_good_answer(call, tmp_path):
    fill(tmp_path)
    assert call("judge", tmp_path)[0] == call("report", tmp_path)[0] == 1
