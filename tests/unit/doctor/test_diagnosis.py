# SPDX-License-Identifier: Apache-2.0
"""The doctor on real logs, on runs that went well, and on what no log should contain."""

import json
import shutil

import pytest
from samples.edits import added, edit, json_in

from rekindle.doctor import diagnose_run as diagnosis_of
from rekindle.doctor import diagnose_texts, read_logs
from rekindle.records import RecordError

ECHOES = ["trainer_failed", "external_setup_failed", "not_a_dxo", "run_aborted"]
STACKS = "nvflare-tf-mirrored-silent-300s.stacks.txt"
ENDED = "nvflare-script-ended-in-client.stacks.txt"
RUNS = "TaskScriptRunner.run (nvflare/app_common/executors/task_script_runner.py:54)"
WAITS = "InProcessClientAPIExecutor.execute (in_process_client_api_executor.py:183)"
SITE_LOG = "job/workspace/pt_ddp/site-2/log.txt"


def diagnose_run(run):
    return diagnosis_of(run).findings


def diagnose_paths(paths):
    return (diagnosis_of(paths[0]) if paths[0].is_dir() else diagnose_texts(read_logs(paths))).findings


def _names(findings):
    return [finding.name for finding in findings]


def _log(run, text, name=SITE_LOG):
    with (run / name).open("a", encoding="utf-8") as stream:
        stream.writelines(
            f"2026-11-21 03:01:00,{number:03} - SubprocessLauncher - INFO - {line}\n"
            for number, line in enumerate(text.splitlines())
        )


def _exception(run, **fields):
    event = {"event": "exception", "time": 1.0, "site": "site-1", "rank": 0, "kind": "ValueError"}
    line = json.dumps({**event, "message": "bad", "place": "client.py:9", **fields})
    added("evidence/site-1.rank-0.jsonl", line)(run)


def _nvflare(run, version):
    with json_in(run / "spec.json") as spec:
        spec["versions"] = {"nvflare": version}


def test_the_starved_trainer_stands_before_nvflares_own_errors(recordings):
    log = recordings / "nvflare-tf-mirrored-starved.log"
    root, *echoes = diagnose_paths([log])
    assert (root.name, root.layer, root.line, root.echo) == ("gpu_memory_taken", "framework", 67, False)
    assert "CUDA_ERROR_OUT_OF_MEMORY" in log.read_text().splitlines()[root.line - 1]
    assert root.cause.endswith("held by process 16166 (NVFlare's own, no trainer): 140829 MB.")
    assert _names(echoes) == ECHOES
    assert all(finding.echo for finding in echoes)


def test_the_silence_of_300_seconds_is_an_echo_of_the_memory(recordings):
    root, *echoes = diagnose_paths([recordings / "nvflare-tf-mirrored-silent-300s.log"])
    assert root.name == "gpu_memory_taken"
    assert root.cause.endswith("These files do not show who holds it.")
    assert {"exit_waits_for_nvflare", "peer_gone", "not_a_dxo"} <= set(_names(echoes))
    assert all(finding.echo for finding in echoes)


def test_the_stacks_show_whose_script_ended_in_nvflares_client(golden, recordings, tmp_path):
    (root,) = diagnose_paths([recordings / ENDED])
    assert (root.name, root.layer, root.line) == ("script_ended_in_client", "job", 1)
    assert root.confidence == "certain"
    golden(root.cause)
    waiting = "InProcessClientAPI.__receive (nvflare/client/in_process/api.py:135)"
    both = (recordings / ENDED).read_text()
    assert both.count("TaskScriptRunner.run") == both.count(waiting) == 1
    site_1, site_2 = both.split("\nProcess 3453")
    (tmp_path / "training.txt").write_text(f'{site_1}\nThread 7 (idle): "Thread-2 (run)"\n    {RUNS}\n')
    (tmp_path / "asked.txt").write_text(f"Process 3453{site_2}")
    assert diagnose_paths([tmp_path / "training.txt", tmp_path / "asked.txt"]) == ()
    (tmp_path / "both.txt").write_text(both.replace(RUNS, "_x (x.py:1)").replace(waiting, WAITS))
    (root,) = diagnose_paths([tmp_path / "both.txt"])
    assert root.cause.startswith("The training script of site-1, site-2 ended before ")


def test_a_script_that_raised_has_that_for_its_cause(clean_run, recordings):
    (clean_run / "autopsy").mkdir()
    shutil.copy(recordings / ENDED, clean_run / "autopsy" / "stacks.txt")
    (root,) = diagnose_run(clean_run)
    assert (root.name, root.file) == ("script_ended_in_client", "autopsy/stacks.txt")
    with (clean_run / "job.log").open("a") as stream:
        stream.write('Traceback (most recent call last):\n  File "client.py", line 3, in f\nKeyError: 5\n')
    root, echo = diagnose_run(clean_run)
    assert root.cause == "A process raised KeyError: 5 at client.py:3."
    assert (echo.name, echo.echo) == ("script_ended_in_client", True)


def test_an_autopsy_is_read_with_its_run(clean_run, recordings):
    (root,) = diagnose_paths([recordings / STACKS])
    assert (root.name, root.layer, root.echo) == ("exit_waits_for_nvflare", "NVFlare", False)
    (clean_run / "autopsy").mkdir()
    shutil.copy(recordings / STACKS, clean_run / "autopsy/stacks.txt")
    (clean_run / "autopsy/disk.txt").write_text("/tmp/t: 0 MiB free of 64, 12 inodes free\n")
    assert _names(diagnose_run(clean_run)) == ["disk_full", "exit_waits_for_nvflare"]


def test_the_kernel_log_of_before_the_run_blames_nobody(clean_run):
    (clean_run / "autopsy").mkdir()
    kernel = clean_run / "autopsy/kernel.txt"
    kernel.write_text("2026-11-21T01:00:00,000001+00:00 NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off\n")
    edit(clean_run / "ended.json", r'("started": )"[^"]+"', r'\1"2026-11-21T02:00:00Z"')
    assert diagnose_run(clean_run) == ()
    edit(kernel, "T01", "T03")
    assert _names(diagnose_run(clean_run)) == ["gpu_off_the_bus"]


def test_a_clean_run_gives_nothing(recordings):
    runs = sorted((recordings / "runs").iterdir())
    passed = sorted(recordings.glob("nvflare-*-pass.log"))
    assert len(runs) >= 8
    assert len(passed) == 2
    assert not [path.name for path in [*runs, *passed] if diagnose_paths([path])]


def test_a_trainers_own_exception_comes_first_with_its_entry(clean_run):
    _exception(clean_run, kind="ModuleNotFoundError", message="No module named 'x'", time=2.0)
    _log(clean_run, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
    root, echo = diagnose_run(clean_run)
    assert root.cause == "site-1 rank 0 raised ModuleNotFoundError: No module named 'x' at client.py:9."
    assert (root.name, root.layer, root.echo) == ("exception", "environment", False)
    assert "requirements:" in root.remedy
    assert root.file == "evidence/site-1.rank-0.jsonl"
    assert "No module named 'x'" in (clean_run / root.file).read_text().splitlines()[root.line - 1]
    assert (echo.name, echo.echo) == ("child_failed", True)


def test_of_two_exceptions_the_first_in_time_is_the_root(clean_run):
    _exception(clean_run, message="later", time=5.0, rank=1)
    _exception(clean_run, message="first", time=2.0)
    assert diagnose_run(clean_run)[0].cause == "site-1 rank 0 raised ValueError: first at client.py:9."


def test_the_cause_in_the_autopsy_of_a_node_names_it(clean_run):
    edit(clean_run / "spec.json", r'"nodes": \[\]', '"nodes": ["n9", "n10"]')
    (clean_run / "autopsy").mkdir()
    line = "206 of 195 stopped 2.8 s 350 MiB do_signal_stop python -u custom/client.py\n"
    (clean_run / "autopsy/processes-n10.txt").write_text(line)
    (clean_run / "autopsy/logs-n10.txt").write_text("srun: error: Node failure on n10\n")
    (found,) = diagnose_run(clean_run)
    assert found.cause.startswith("On n10: Process 206 (python -u custom/client.py) was stopped")


def test_findings_of_the_ladder_come_after_those_of_the_run(clean_run):
    (clean_run / "ladder").mkdir()
    (clean_run / "ladder/training.log").write_text("srun: error: Node failure on n10\n")
    assert _names(diagnose_run(clean_run)) == ["slurm_step_lost_its_node"]
    launch = "srun: error: Task launch for StepId=7.0 failed on node n10: Zero Bytes were received"
    (clean_run / "samplers.log").write_text(f"{launch}\n")
    assert _names(diagnose_run(clean_run)) == ["slurm_node_takes_no_step", "slurm_step_lost_its_node"]


def test_an_exception_that_only_follows_gives_way_to_a_cause(clean_run):
    _exception(clean_run, kind="RuntimeError", message="Connection closed by peer [127.0.0.1]:8617")
    _log(clean_run, "OSError: [Errno 28] No space left on device")
    root, echo = diagnose_run(clean_run)
    assert (root.name, root.echo, echo.name, echo.echo) == ("host_error", False, "another_rank_left", True)


TRACEBACK = """\
Traceback (most recent call last):
  File "/w/custom/client.py", line 41, in <module>
    main()
  File "/w/site-packages/numpy/core.py", line 7, in check
    raise ValueError("shapes differ")
ValueError: shapes differ"""


def test_an_exception_that_only_follows_and_has_no_log_has_no_cause(tmp_path):
    (tmp_path / "evidence").mkdir()
    _exception(
        tmp_path, kind="torch.distributed.elastic.multiprocessing.errors.ChildFailedError", message="x"
    )
    (finding,) = diagnose_run(tmp_path)
    assert finding.echo


def test_an_exception_that_no_entry_knows_is_dug_out_of_the_sites_log(clean_run):
    _log(clean_run, f"{TRACEBACK}\nlauncher completed with status failed at time 1.0")
    root, echo = diagnose_run(clean_run)
    assert (root.name, root.layer, root.file) == ("exception", "job", SITE_LOG)
    assert root.cause == "A process raised ValueError: shapes differ at client.py:41."
    assert "ValueError: shapes differ" in (clean_run / SITE_LOG).read_text().splitlines()[root.line - 1]
    assert (echo.name, echo.echo) == ("trainer_failed", True)


def test_what_ends_a_good_run_of_torchrun_is_no_cause(clean_run):
    ending = "torch.distributed.elastic.multiprocessing.api.SignalException: Process 1 got signal: 15"
    _log(clean_run, TRACEBACK.replace("ValueError: shapes", ending))
    assert diagnose_run(clean_run) == ()


@pytest.mark.parametrize(
    "line",
    [
        "urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>",
        "requests.exceptions.ConnectionError: HTTPConnectionPool(host='hub.local', port=9): Max retries",
        "ConnectionError: Couldn't reach 'nosuch/zz' on the Hub (LocalEntryNotFoundError)",
    ],
)
def test_what_cannot_be_fetched_is_known_when_it_is_raised_and_not_when_it_is_retried(clean_run, line):
    _log(clean_run, f"WARNING: Retrying after {line}")
    assert diagnose_run(clean_run) == ()
    _log(clean_run, line)
    assert _names(diagnose_run(clean_run)) == ["hub_unreachable"]


def test_what_this_host_itself_does_not_serve_is_no_hub(clean_run):
    _log(
        clean_run, "requests.exceptions.ConnectionError: HTTPConnectionPool(host='localhost', port=5000): Max"
    )
    (found,) = diagnose_run(clean_run)
    assert found.cause.startswith("A connection fails: ")


def test_an_exception_that_was_handled_is_no_cause(clean_run):
    _log(clean_run, f"{TRACEBACK}\ntraining goes on")
    assert diagnose_run(clean_run) == ()
    edit(clean_run / "ended.json", r'("exit_status": )\d+', r"\g<1>1")
    assert _names(diagnose_run(clean_run)) == ["exception"]


def test_a_trainer_that_died_without_a_word_is_a_guess_and_gives_way(clean_run):
    _log(clean_run, "launcher completed with status failed at time 1.0")
    assert _names(diagnose_run(clean_run)) == ["trainer_died_without_a_word", "trainer_failed"]
    _log(clean_run, "No module named 'tenseal'")
    assert _names(diagnose_run(clean_run)) == ["tenseal_missing", "trainer_failed"]


@pytest.mark.parametrize(
    ("before", "root"),
    [
        ("External setup for task (train) succeeded.\n", "trainer_died_without_a_word"),
        ("", "ended_without_init"),
    ],
)
def test_a_trainer_that_ends_between_two_rounds_had_called_init(tmp_path, before, root):
    """NVFlare says of it that it had not: seen in a federation whose agent was killed then."""
    log = tmp_path / "log.txt"
    ended = "External process has not called flare.init and run status becomes failed."
    log.write_text(f"{before}task result sent to server\n{ended}\nFailed external setup for task (train).\n")
    first, *others = diagnose_paths([log])
    assert (first.name, [other.echo for other in others]) == (root, [True] * len(others))


def test_a_servers_log_that_begins_after_the_console_is_another_runs(clean_run):
    console = clean_run / "job.log"
    console.write_text("\x1b[38m2099-01-01 00:00:00,000 - INFO - Initializing workflow.\x1b[0m\n")
    assert diagnose_run(clean_run) == ()
    edit(console, "2099", "2001")
    (root,) = diagnose_run(clean_run)
    assert (root.name, root.layer, root.line) == ("two_runs_of_one_name", "job", 1)
    assert root.file == "job/workspace/pt_ddp/server/log.txt"
    _exception(clean_run, kind="RuntimeError", message="Load config file failed", time=2.0)
    assert _names(diagnose_run(clean_run))[0] == "two_runs_of_one_name"


def test_a_later_simulation_of_one_script_is_no_other_run_whatever_its_name(clean_run):
    edit(clean_run / "job.log", "2026", "2025")  # of the first one, whose workspace sorts last
    first = clean_run / "job/workspace/z/server"
    first.mkdir(parents=True)
    (first / "log.txt").write_text((clean_run / "job.log").read_text())
    assert diagnose_run(clean_run) == ()
    (first / "log.txt").unlink()
    assert _names(diagnose_run(clean_run)) == ["two_runs_of_one_name"]


def test_of_equal_causes_the_earliest_is_the_root(tmp_path):
    lines = ((1, 9, "CUDA error: invalid device ordinal"), (2, 3, "No module named 'tenseal'"))
    for site, second, line in lines:
        (tmp_path / f"site-{site}").mkdir()
        text = f"2026-11-21 03:00:0{second},000 - SubprocessLauncher - INFO - {line}\n"
        (tmp_path / f"site-{site}/log.txt").write_text(text)
    assert _names(diagnose_run(tmp_path)) == ["tenseal_missing", "wrong_device"]


def test_an_error_log_is_not_read_twice(clean_run):
    (clean_run / "job/workspace/pt_ddp/site-2/log_error.txt").write_text("No module named 'tenseal'\n")
    assert diagnose_run(clean_run) == ()


@pytest.mark.parametrize(
    ("nvflare", "names"), [("2.7.3", ["quantiser_meets_reference"]), ("2.8.0", ["exception"])]
)
def test_an_entry_is_for_its_versions_alone(clean_run, nvflare, names):
    _nvflare(clean_run, nvflare)
    _exception(clean_run, kind="AttributeError", message="'LazyDownloadRef' object has no attribute 'nbytes'")
    assert _names(diagnose_run(clean_run)) == names


def test_without_the_versions_it_is_less_sure(clean_run):
    _nvflare(clean_run, "2.7.3")
    _log(clean_run, "AttributeError: 'LazyDownloadRef' object has no attribute 'nbytes'")
    assert diagnose_run(clean_run)[0].confidence == "certain"
    (clean_run / "spec.json").unlink()
    assert diagnose_run(clean_run)[0].confidence == "likely"


def test_a_broken_record_stops_nobody(clean_run):
    (clean_run / "spec.json").write_text("{")
    _log(clean_run, "No module named 'tenseal'")
    assert _names(diagnose_run(clean_run)) == ["tenseal_missing"]


def test_what_is_no_log_is_one_sentence_with_a_fix(tmp_path):
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(RecordError, match=r"^\S+ cannot be read[^\n]* Fix: ") as raised:
            list(read_logs([path]))
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "where", "cause", "layer"),
    [
        ("nvidia-smi", "/usr/lib/python3.12/subprocess.py", "A program is missing", "driver"),
        ("ffmpeg", "/opt/python/lib/python3.12/subprocess.py", "A program is missing", "environment"),
        ("labels", "/data/job/client.py", "A file is missing", "job"),
        ("/data/labels", "/usr/lib/python3.12/subprocess.py", "A file is missing", "job"),
    ],
)
def test_what_subprocess_cannot_start_is_a_program(tmp_path, name, where, cause, layer):
    log = tmp_path / "job.log"
    log.write_text(
        'Traceback (most recent call last):\n  File "/data/job/client.py", line 3, in <module>\n    go()\n'
        f'  File "{where}", line 1950, in _execute_child\n    raise child_exception_type(errno_num)\n'
        f"FileNotFoundError: [Errno 2] No such file or directory: '{name}'\n"
    )
    (finding,) = diagnose_paths([log])
    assert finding.cause.startswith(cause), finding
    assert finding.layer == layer
