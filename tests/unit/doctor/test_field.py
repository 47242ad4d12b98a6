# SPDX-License-Identifier: Apache-2.0
"""How often the doctor is right on failures of the field; and that it leaves good runs alone."""

import io
import re
from collections import Counter

import pytest
from samples.excerpts import EXCERPTS
from samples.field_logs import failures, found, grade, healthy, outcome, root

from rekindle.doctor import diagnose_run, diagnose_texts, read_logs, texts
from rekindle.doctor.excerpts import MATTERS
from rekindle.doctor.subjects import hide_paths, load_rows, make_expression

FAILURES = failures()
AFTER = "".join(f"heartbeat {number}\n" for number in range(10))


@pytest.mark.parametrize(("held", "right", "wrong"), [(False, 0.88, 0.08), (True, 0.82, 0.13)])
def test_most_failures_in_the_field_are_named_and_few_wrongly(held, right, wrong):
    of_half = [failure for failure in FAILURES if failure.held is held]
    counts = Counter(outcome(failure) for failure in of_half)
    assert counts["right"] >= right * len(of_half), counts
    assert counts["wrong"] <= wrong * len(of_half), counts


def test_what_is_certain_is_right_and_causes_are_short():
    named = [(failure, finding) for failure in FAILURES if (finding := root(failure.log))]
    assert not [
        one.name for one, finding in named if finding.confidence == "certain" and not one.right(finding)
    ]
    assert not [one.name for one, finding in named if len(finding.cause) > 320]


def test_what_is_only_possible_is_said_to_be_so():
    named = [(failure, finding) for failure in FAILURES if (finding := root(failure.log))]
    confident = [(failure, finding) for failure, finding in named if finding.confidence != "possible"]
    assert sum(grade(failure) == "wrong" for failure, _ in confident) <= 0.05 * len(confident)
    told = [finding.remedy for _, finding in named if finding.name.endswith("_error")]
    assert sum(remedy.startswith("Read this line") for remedy in told) < 0.2 * len(told)


@pytest.mark.parametrize(
    ("line", "confidence"),
    [
        ("error: mlx5 looks odd", "possible"),
        ("[rank3]: error: its watchdog got stuck", "possible"),
        ("error: the training data is undefined variable", "possible"),
        ("error: mlx5_0: async fatal event", "likely"),
        ("NVRM: Xid (PCI:0000:18:00): 79, pid=1", "certain"),
    ],
)
def test_a_short_word_a_symptom_and_a_weak_word_are_little_evidence(line, confidence):
    finding = root(f"{line}\n")
    assert finding.confidence == confidence
    assert finding.remedy.startswith("Read this line and those around it.") is (confidence == "possible")


def test_healthy_logs_that_alarm_are_left_alone():
    assert len(healthy()) >= 50
    assert [name for name, log in healthy() if root(log)] == []


def test_text_after_a_failure_silences_nothing():
    assert [one.name for one in FAILURES[::4] if root(one.log) and not root(one.log + AFTER)] == []


def test_an_error_that_the_log_takes_back_is_none():
    error = "OSError: [Errno 113] No route to host: 'hub-3'\n"
    assert "hub-3" in root(error).cause
    assert root(f"{error}step 7 loss 0.3\nTraining complete.\n") is None
    assert (
        "hub-3" in root(f"step 7 loss 0.3\n{error}srun: error: n1: task 0: Exited with exit code 1\n").cause
    )


@pytest.mark.parametrize(
    ("log", "layer"),
    [
        ("ERROR the thing broke\n", None),
        ("AssertionError\n", "job"),
        (
            "error: bad magic\nRuntimeError: CUDA error: no kernel image is available for execution\n",
            "environment",
        ),
        (
            "error: Invalid qos\nsbatch: error: Batch job submission failed: Invalid qos specification\n",
            "job",
        ),
        ("error: the thing broke\nslurmd: error: connection refused\n", "network"),
    ],
)
def test_what_nobody_knows_has_no_cause_and_is_never_passed_over(log, layer):
    diagnosis = found(log)
    assert (diagnosis.cause and diagnosis.cause.layer) == layer
    assert [(one.line, one.message) for one in diagnosis.timeline] == [
        (number, line) for number, line in enumerate(log.splitlines(), 1)
    ]


WARNING = "2026-10-13 01:35:21.0: W dso_loader.cc:64] Could not load dynamic library 'libcudart.so.11.0'\n"
RAISED = 'Traceback (most recent call last):\n  File "/w/fit.py", line 14, in <module>\n'


def test_a_warning_alone_is_no_failure():
    assert root(f"{WARNING}it trains on the CPU\n") is None


@pytest.mark.parametrize(
    ("raised", "layer"),
    [
        ("AssertionError: this site is to train fast", "environment"),
        ("KeyError: 'site'", "job"),
    ],
)
def test_a_warning_names_the_cause_of_a_symptom_after_it_and_of_no_other(raised, layer):
    log = f"{RAISED}{raised}\n"
    assert root(f"{WARNING}{log}").layer == layer
    assert root(f"{log}{WARNING}").layer == "job"


def test_words_begin_with_the_letters_by_which_they_are_looked_up():
    words = [words for row in load_rows() for words in row.words]
    assert [one for one in words if "*" in one[:3] or len(one) < 3] == []


def test_no_word_stands_in_more_failures_of_other_layers_than_of_its_own():
    texts_of = [(hide_paths(" ".join(one.log.split())), one.layers) for one in FAILURES if not one.held]
    wide = []
    for row in load_rows():
        for words in row.words if row.rank != "echo" and not row.places else ():
            begins, expression = words.partition("*")[0], make_expression(words)
            of = [layers for text, layers in texts_of if begins in text and expression.search(text)]
            if len(of) > 2 and 3 * sum(row.layer in layers for layers in of) < len(of):
                wide.append((words, row.layer))
    assert wide == []


@pytest.mark.parametrize(
    ("file", "function", "layer"),
    [
        ("decoder/__init__.py", "<module>", "environment"),
        ("decoder/read.py", "read", "job"),
        ("urllib3/response.py", "read", "network"),
        ("torch/utils/cpp_extension.py", "load", "environment"),
    ],
)
def test_where_a_package_raises_tells_what_words_do_not(file, function, layer):
    frame = f'  File "/v/lib/python3.11/site-packages/{file}", line 3, in {function}\n    g()\n'
    assert root(f"{RAISED}    import decoder\n{frame}LookupError: no\n").layer == layer


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("error: cannot lock it: Unknown error 524 (os error 524)", "df -T"),
        ("OSError: [Errno 108] Cannot send after shutdown: '/scratch/a.tar'", "Mount the folder again"),
        ("free(): invalid next size (fast)", "release or build of the library"),
        ("429 Client Error: Slow for url: https://hub.example/x", "limits how much"),
    ],
)
def test_a_number_tells_what_words_do_not(line, remedy):
    assert remedy in root(f"error: {line}\n").remedy


def test_of_a_chain_the_first_that_says_something_is_the_cause():
    link = "\nThe above exception was the direct cause of the following exception:\n\n"
    chain = f"{RAISED}TimeoutError\n{link}{RAISED}wandb.errors.CommError: no answer in 200 s\n"
    assert (root(chain).layer, root(chain).line) == ("network", 9)


@pytest.mark.parametrize(
    ("lacks", "says"),
    [
        ("cannot write /data/model.pt", "A disk is full"),
        ("Failed to create container process", "no subordinate ids"),
    ],
)
def test_no_space_is_a_disks_only_where_a_file_is_written(lacks, says):
    assert says in root(f"ERROR: {lacks}: No space left on device\n").cause


def test_an_exception_says_what_the_rest_of_its_message_says():
    raised = f"{RAISED}ValueError: Couldn't instantiate it from one of the following.\n"
    assert root(raised).layer == "job"
    assert root(f"{raised}You need to have sentencepiece or tiktoken installed.\n").layer == "environment"


def test_who_reported_an_error_before_it_was_cancelled_was_not_ended_by_a_person():
    cancelled = "slurmstepd: error: *** JOB 89 ON n1 CANCELLED AT 2026-09-10T10:01:11 ***\n"
    failed = "slurmstepd: error: execve(): /job89/slurm_script: No such file or directory\n"
    assert [root(log).name for log in (cancelled, failed + cancelled)] == [
        "slurm_cancelled",
        "slurm_program_missing",
    ]


def test_of_a_flood_of_errors_both_ends_are_read():
    def flood(*causes):
        names = (f"q{chr(97 + n % 26)}q{chr(97 + n // 26 % 26)}q{chr(97 + n // 676)}q" for n in range(5000))
        lines = [f"ERROR {name} {'no answer from it ' * 3}" for name in names]
        for at, cause in causes:
            lines[at] = f"ERROR: write {cause}: No space left on device"
        return "\n".join([*lines, ""])

    assert "/first" in root(flood((0, "/first"), (4999, "/last"))).cause
    assert "/last" in root(flood((2500, "/amid"), (4999, "/last"))).cause


def test_a_log_of_echoes_alone_has_no_root_cause_and_is_not_called_well():
    log = "srun: error: gpu-1: task 0: Exited with exit code 1\n"
    (finding,) = diagnose_texts([texts.decode_text("log.txt", log.encode())]).findings
    assert (finding.echo, finding.cause) == (True, "srun: error: gpu-1: task 0: Exited with exit code 1")


def test_a_bar_that_a_crash_shows_once_more_is_no_progress():
    bar = " 41%|████      | 512/1250 [04:01<05:47,  2.12it/s]\n"
    error = "OSError: [Errno 113] No route to host: 'hub-3'\n"
    assert "hub-3" in root(f"{bar}{error}{bar}").cause
    assert root(f"{bar}{error}{bar.replace('512', '513')}") is None


@pytest.mark.parametrize(
    "result",
    [
        'fatal: [gpu-5]: FAILED! => {\n    "changed": false,\n    "msg": "sudo: a password is required"\n}\n',
        "fatal: [gpu-5]: FAILED! =>\n  msg: |-\n    sudo: a password is required\n  rc: 1\n",
        'gpu-5 | FAILED! => {\n    "changed": false,\n    "msg": "sudo: a password is required"\n}\n',
    ],
)
def test_a_result_of_ansible_in_several_lines_is_read_whole(result):
    finding = root(f"TASK [x] ***\n{result}")
    assert (finding.layer, finding.line) == ("host", 2)
    assert finding.cause.endswith("Ansible on gpu-5: sudo: a password is required")


def test_words_of_a_command_and_of_a_path_say_nothing_of_a_failure():
    line = (
        "['/opt/bin/python', '-u', 'train.py', '--local_rank=0', '--num_gpus=2'] exits with return code = -9"
    )
    assert root(f"[ERROR] {line}\n").layer == "host"


def test_the_first_exception_of_a_chain_is_the_cause_and_the_last_is_told():
    log = next(failure.log for failure in FAILURES if failure.name == "torch_dataloader_chain")
    assert re.search(
        r"FileNotFoundError: .* at data\.py:22, then RuntimeError: training aborted", root(log).cause
    )


def test_a_stream_and_a_file_beyond_the_limit_give_one_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "LIMIT", 1 << 16)
    content = b"step 1 ok\n" * 20_000 + b"sbatch: error: Batch job submission failed: Invalid qos\n"
    (tmp_path / "log.txt").write_bytes(content)
    (in_file,) = diagnose_texts(read_logs([tmp_path / "log.txt"])).findings
    (streamed,) = diagnose_texts([texts.read_stream(io.BytesIO(content), str(tmp_path / "log.txt"))]).findings
    assert in_file == streamed
    assert in_file.line == 20_001


def test_lines_and_paths_of_windows_are_read():
    lines = [
        "2026-11-20 10:00:02,100 - SubprocessLauncher - INFO - Traceback (most recent call last):",
        '2026-11-20 10:00:02,101 - SubprocessLauncher - INFO -   File "C:\\job\\train.py", line 12, in f',
        "2026-11-20 10:00:02,102 - SubprocessLauncher - INFO - KeyError: 'patient'",
    ]
    assert root("".join(f"{line}\r\n" for line in lines)).cause == (
        "A process raised KeyError: 'patient' at train.py:12."
    )


@pytest.mark.parametrize("name", ["worker-0.txt", "train.log.1", "fit.out.12"])
def test_every_text_of_a_folder_is_read(tmp_path, name):
    (tmp_path / name).write_text("sbatch: error: Batch job submission failed: Invalid qos\n")
    assert [finding.layer for finding in diagnose_run(tmp_path).findings] == ["job"]


def test_in_a_large_log_that_repeats_itself_the_odd_line_is_found():
    filler = "".join(f"INFO batch {number} of 90000, throughput {number}.5\n" for number in range(30_000))
    finding = root(f"{filler}ssh: connect to host gpu-9 port 22: No route to host\n{filler[:500]}")
    assert (finding.layer, finding.line) == ("network", 30_001)
    finding = root(f"{filler}RuntimeError: No CUDA GPUs are available\n")
    assert (finding.name, finding.line) == ("job_error", 30_001)


def test_every_entry_has_a_word_by_which_large_logs_are_searched():
    assert [name for name, of in EXCERPTS.items() if not MATTERS.search(of.excerpt.lower())] == []
