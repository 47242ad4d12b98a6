# SPDX-License-Identifier: Apache-2.0
"""Lines that the entries' own excerpts do not show, as real programs wrote them."""

from pathlib import Path

import pytest

from rekindle.doctor import diagnose_texts, texts
from rekindle.doctor.subjects import find_subject

LINES = {
    "shared_memory_full": "RuntimeError: DataLoader worker (pid 5787) is killed by signal: Bus error. It is",
    "driver_too_old": "(error code CUDA driver version is insufficient for CUDA runtime version)!",
    "no_kernel_for_the_gpu": "sm_120 is not compatible with the current PyTorch installation.",
    "nccl_lacks_the_gpu": "NCCL WARN Cuda failure 98 'invalid device function'",
    "nccl_cuda_error": "RuntimeError: NCCL Error 1: unhandled cuda error",
    "gpu_memory_taken": "[rank1]: Cuda failure 2 'out of memory'",
    "model_outside_scope": 'RuntimeError: Need to be inside "with strategy.scope()" for <MirroredStrategy>',
    "quantiser_needs_cuda": "    values_tensor = torch.as_tensor(values).cuda()",
    "quantiser_needs_cuda ": "    values_tensor = values.cuda()",
    "master_unreachable": "The client socket has timed out after 4000ms while trying to connect to (x, 1).",
    "gpu_off_the_bus": "[12345.6] NVRM: Xid (PCI:0000:00:01.0): 79, pid='x', GPU has fallen off the bus.",
}


def _diagnose(content):
    return diagnose_texts([texts.decode_text("log.txt", content.encode())]).findings


@pytest.mark.parametrize(("name", "line"), LINES.items())
def test_a_line_is_known_bare_and_behind_a_loggers_prefix(name, line):
    for before in ("", "2026-11-20 20:45:34,220 - SubprocessLauncher - INFO - "):
        found = _diagnose(f"{before}{line}\n")
        assert [(finding.name, finding.line) for finding in found] == [(name.strip(), 1)]


def test_a_library_of_another_framework_is_named_rather_than_the_failed_import():
    (found,) = _diagnose("ImportError: libtorch_cuda.so: undefined symbol: ncclCommResume")
    assert (found.name, found.cause.count("ncclCommResume")) == ("cuda_libraries_mixed", 1)


def test_a_port_is_named_where_the_line_names_it():
    line = "name: EADDRINUSE, message: address already in use"
    first, second = _diagnose(f"port: 27777, useIpv6: false, code: -98, {line}"), _diagnose(line)
    assert [finding.name for finding in (*first, *second)] == ["port_in_use", "host_error"]
    assert first[0].cause == "Port 27777 is held by another process: address already in use."
    assert "no detail" not in second[0].cause


def test_the_quantisers_own_line_comes_before_what_it_raises():
    lines = "    values_tensor = torch.as_tensor(values).cuda()\nRuntimeError: No CUDA GPUs are available\n"
    assert _diagnose(lines)[0].name == "quantiser_needs_cuda"


def test_a_device_without_an_end_is_read_as_far_as_the_limit(monkeypatch):
    monkeypatch.setattr(texts, "LIMIT", 4096)
    with Path("/dev/urandom").open("rb") as endless:
        assert 0 < len(texts.read_stream(endless, "endless").raw) <= 4096


def test_a_hole_in_a_log_is_no_text():
    assert texts.decode_text("log.txt", b"one\0\0\0\ntwo").raw == "one\ntwo"


def test_a_warning_that_a_compile_takes_minutes_is_a_possible_cause_alone():
    (found,) = _diagnose(
        "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0. X"
    )
    assert (found.confidence, "capability 12.0 and" in found.cause) == ("possible", True)


@pytest.mark.parametrize(
    ("line", "layer"),
    [
        ("fatal: cannot open /etc/fl/site.conf: No such file or directory", "host"),
        ("fatal: exec /.singularity.d/actions/shell failed: no such file or directory", "environment"),
        ("fatal: cannot open /dev/nvidia-uvm: No such file or directory", "driver"),
        ("/opt/v/bin/python: can't open file '/w/train.py': [Errno 2] No such file or directory", "job"),
    ],
)
def test_the_path_of_what_is_missing_tells_the_layer(line, layer):
    assert [finding.layer for finding in _diagnose(f"{line}\n")] == [layer]


@pytest.mark.parametrize(
    ("end", "layer"), [("hub-3:8002", "network"), ("/run/x/x.sock", "host"), ("localhost:6819", "host")]
)
def test_a_connection_within_a_host_is_the_hosts(end, layer):
    assert _diagnose(f"error: failed to connect to {end}: Connection refused\n")[0].layer == layer


@pytest.mark.parametrize(
    ("line", "layer"),
    [
        ("slurmstepd: error: pyxis: Command not found: nvcc", "environment"),
        ("error: RuntimeError: ValueError: app_b in deploy_map names site-9", "job"),
        ("ERROR! the galaxy cannot be read (HTTP Code: 530, Message: none)", "network"),
    ],
)
def test_what_others_pass_on_is_of_whom_it_is_about(line, layer):
    assert _diagnose(f"{line}\n")[0].layer == layer


@pytest.mark.parametrize(
    ("why", "cause"),
    [
        ("a@b: Permission denied (publickey).", "SSH refuses this user"),
        ("the gate is shut", "A connection fails"),
    ],
)
def test_ssh_itself_says_why_ansible_did_not_get_to_a_host(why, cause):
    line = f'gpu-1 | UNREACHABLE! => {{"msg": "Failed to connect to the host via ssh: {why}"}}\n'
    assert _diagnose(line)[0].cause.startswith(f"{cause}: Ansible on gpu-1")


def test_an_entry_that_stands_again_after_progress_was_not_overcome():
    warned = "sm_120 is not compatible with the current PyTorch installation.\n"
    loaded = " 100%|####| 291/291 [00:02<00:00, 118.2it/s]\n"
    raised = 'Traceback (most recent call last):\n  File "/w/x.py", line 1, in <module>\n'
    raised += "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    assert _diagnose(f"{warned}{loaded}") == ()
    assert _diagnose(f"{warned}{loaded}{raised}")[0].name == "no_kernel_for_the_gpu"


def test_what_was_tried_again_is_no_cause():
    assert _diagnose("WARNING will retry: certificate verify failed\n") == ()


def test_a_link_event_that_is_not_fatal_is_nobodys():
    line = "NVRM: Xid (PCI:0000:66:00): 145, RLW_RXPIPE {} XC0 i0 Link 13 (0x0409a0c2 0x8)\nstep 2 loss 1\n"
    assert not _diagnose(line.format("Nonfatal"))
    assert _diagnose(line.format("Fatal"))[0].name == "gpu_link_trouble"


def test_a_quotation_begins_with_its_line_where_there_is_room():
    line = f"ERROR: The Foo site, which asks for what is there, has a connection refused {'and so on ' * 20}"
    assert "The Foo site" in _diagnose(f"{line}\n")[0].cause


def test_a_contained_memory_error_is_the_gpus():
    line = "NVRM: Xid (PCI:0000:9b:00): 94, pid=9911, name=python3, Contained ECC error\n"
    assert [(found.name, found.layer) for found in _diagnose(line)] == [("gpu_memory_broken", "host")]


def test_a_line_that_reports_an_error_is_no_progress():
    assert "hub-3" in _diagnose("ERROR: step 3 loss nan: connection refused by hub-3\n")[0].cause


def test_a_program_that_names_itself_before_each_line_is_no_host():
    (found,) = _diagnose(
        "sbatch: error: Invalid qos\nsbatch: error: Batch job submission failed: Invalid qos\n"
    )
    assert "sbatch: error: " in found.cause


def test_what_another_daemon_started_takes_back_nothing_that_the_kernel_reports():
    error = 'XFS (dm-3): metadata I/O error in "xfs_da_read_buf" at daddr 0x1b3 len 8 error 74'
    started = "Nov  2 10:00:05 s1 systemd[1]: Started Daily Cleanup of Temporary Directories.\n"
    assert _diagnose(f"Nov  2 10:00:00 s1 kernel: {error}\n{started}")[0].layer == "host"
    assert not _diagnose(f"Nov  2 10:00:00 s1 fsd[7]: {error}\n{started}")


def test_a_status_of_http_is_no_code_of_cuda():
    assert find_subject("Error: 500 x").row.meaning == "The build has no code for this GPU"
    assert find_subject("HTTPError: 500 x") is None


def test_an_exception_inside_a_package_asks_what_the_job_gives_to_it():
    raised = 'Traceback (most recent call last):\n  File "/v/{}", line 9, in f\n    g()\nRuntimeError: no\n'
    assert "gives to torch" in _diagnose(raised.format("site-packages/torch/nn.py"))[0].remedy
    assert _diagnose(raised.format("job/train.py"))[0].remedy == "Correct what raises at train.py:9."


def test_an_exception_below_a_function_of_ours_is_at_the_jobs_own_line():
    frame = '  File "/v/{}", line {}, in f\n    g()\n'
    places = [("job/train.py", 9), ("jobs/rekindle-1a.zip/rekindle/trainer/loads.py", 44)]
    frames = "".join(frame.format(*place) for place in [*places, ("site-packages/torch/nn.py", 7)])
    cause = _diagnose(f"Traceback (most recent call last):\n{frames}RuntimeError: no\n")[0].cause
    assert cause == "A process raised RuntimeError: no at train.py:9."


def test_a_trainers_error_that_nobody_knows_comes_before_a_death_that_nobody_explains(tmp_path):
    stamp = "2026-11-28 13:07:0{} - {}\n"
    said = stamp.format("5,901", "SubprocessLauncher - INFO - ERROR: the gate is shut")
    died = stamp.format(
        "7,337", "ClientAPILauncherExecutor - INFO - [identity=a] - launcher completed with status failed"
    )
    log = texts.decode_text("site-1/log.txt", (said + died).encode())
    cause, *_ = diagnose_texts([log]).findings
    assert (cause.layer, cause.cause) == ("job", "the gate is shut")


def test_a_message_that_only_counts_goes_on_with_what_it_counts():
    raised = 'Traceback (most recent call last):\n  File "/w/x.py", line 1, in <module>\n'
    said = "1 validation error for Settings\nrounds\n  Input should be greater than 0 [type=greater_than]"
    cause = _diagnose(f"{raised}pydantic_core._pydantic_core.ValidationError: {said}\n")[0].cause
    assert "1 validation error for Settings: rounds Input should be greater than 0" in cause


RAISED = 'Traceback (most recent call last):\n  File "/w/fit.py", line 9, in main\n    {}\n'
INSIDE = '  File "/v/lib/python3.11/{}.py", line 5, in f\n    g()\n'


def test_what_a_package_raises_is_told_to_the_line_that_gave_it_that():
    inside = INSIDE.format("site-packages/wandb/sdk/port")
    finding = _diagnose(
        RAISED.format("wandb.init()") + inside + "wandb.sdk.port.PortError: no port after 30 s"
    )[0]
    assert (
        finding.remedy == "See what fit.py:9 gives to wandb, which raises this: settings, arguments and data."
    )


@pytest.mark.parametrize(
    ("where", "raised", "meaning"),
    [
        ("multiprocessing/connection", "EOFError", "A worker process died: EOFError at fit.py:9"),
        ("multiprocessing/connection", "EOFError: Ran out of input", "A file has not the content"),
        ("zipfile", "EOFError", "A file has not the content"),
    ],
)
def test_an_exception_without_a_message_is_told_first_by_where_it_is_raised(where, raised, meaning):
    assert _diagnose(RAISED.format("read()") + INSIDE.format(where) + raised)[0].cause.startswith(meaning)


@pytest.mark.parametrize(
    ("status", "lines"), [("code=exited, status=1/FAILURE", [2]), ("code=exited, status=0/SUCCESS", [])]
)
def test_the_last_line_of_a_service_that_ended_is_an_error_of_the_hosts(status, lines):
    log = (
        "Nov 20 10:00:00 n1 shaped[7]: reads /etc/shaped.toml\n"
        "Nov 20 10:00:00 n1 shaped[7]: shaper 4 is above root 2\n"
        f"Nov 20 10:00:00 n1 systemd[1]: shaped.service: Main process exited, {status}\n"
    )
    assert [(one.layer, one.line) for one in _diagnose(log) if not one.echo] == [("host", at) for at in lines]


def test_a_module_whose_package_has_another_name_is_told_by_that():
    assert (
        "List opencv-python-headless as" in _diagnose("ModuleNotFoundError: No module named 'cv2'")[0].remedy
    )


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("/src/mem/heap.cpp:1510: non-zero status: 101 cuMemCreate failed", 1),
        ("/src/init/init.cu:check:1080: initialization failed, exiting", 1),
        ("/src/a.h:7: note: expanded from macro", 0),
        ("2026-11-20 10:00:00 [7.0] error: the gate is shut", 1),
    ],
)
def test_a_line_of_a_source_file_and_a_bracketed_word_before_a_level_report_an_error(line, shown):
    found = diagnose_texts([texts.decode_text("log.txt", f"begins\n{line}\nends\n".encode())])
    assert len(found.timeline) == shown


def test_a_limit_that_is_named_needs_no_mark_of_an_error():
    assert _diagnose("kernel: nf_conntrack: table full, dropping packet\n")[0].layer == "host"


@pytest.mark.parametrize(
    "imports", ["", 'Traceback (most recent call last):\n  File "/w/fit.py", line 3, in f\n']
)
def test_a_script_that_python_does_not_take_is_named_with_its_line(imports):
    log = f'{imports}  File "/w/gate.py", line 2\n    def f(:\n          ^\nSyntaxError: invalid syntax\n'
    (finding,) = _diagnose(log)
    assert finding.cause == "A process raised SyntaxError: invalid syntax at gate.py:2."


def test_a_program_that_a_package_installed_is_no_line_of_the_jobs():
    log = RAISED.format("main()").replace("/w/fit.py", "/v/bin/gate") + INSIDE.format("gate/cli")
    assert "cli.py:" in _diagnose(f"{log}ValueError: shut\n")[0].cause


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("set_gate: Operation not permitted", "The kernel does not know or allow a call"),
        ("cannot open '/srv/gate': Operation not permitted", "A path may not be used"),
        ("open /dev/gate0: No such file or directory", "A device is not there"),
        ("pthread_create failed for 3: Resource temporarily unavailable", "Too many processes or threads"),
    ],
)
def test_what_the_kernel_says_tells_less_than_what_it_says_it_of(line, meaning):
    assert _diagnose(f"error: {line}\n")[0].cause.startswith(meaning)


def test_what_a_program_of_go_marks_as_information_is_no_error():
    line = "[0000] Not collecting: Error getting metrics: connection refused\n"
    assert [bool(_diagnose(f"{level}{line}")) for level in ("INFO", "FATA")] == [False, True]


def test_the_timeline_says_what_a_result_of_ansible_says_that_is_shown_in_lines():
    log = 'fatal: [n1]: FAILED! => {\n    "changed": false,\n    "msg": "n1 has 11 GB and needs 40"\n}\n'
    (moment,) = diagnose_texts([texts.decode_text("log.txt", log.encode())]).timeline
    assert moment.message == "Ansible on n1: n1 has 11 GB and needs 40"


@pytest.mark.parametrize(("passed", "file"), [(". Using fallback data instead.", False), (".", True)])
def test_what_is_passed_over_is_no_warning_that_names_a_cause(passed, file):
    loads = "2026-11-29 21:49:10 - INFO - FileNotFoundError: [Errno 2] No such file or directory: 'a'"
    log = f"{loads}{passed}\n2026-11-29 21:49:27,964 - ERROR - the gate is shut\n"
    found = diagnose_texts([texts.decode_text("job.log", log.encode())])
    assert bool(found.cause and found.cause.cause.startswith("A file is missing")) == file


ROOTS = {
    "a result that the play ignores": (
        'fatal: [gpu1]: FAILED! => {"msg": "non-zero return code", "stderr": "sh: nvcc: not found"}\n'
        '...ignoring\n\nTASK [b]\nfatal: [gpu1]: FAILED! => {"msg": "Missing sudo password"}\n',
        "A right of this user is missing",
    ),
    "a note that is passed on": (
        "slurmstepd: error: pyxis:     [INFO] Creating squashfs filesystem...\n"
        "slurmstepd: error: pyxis:     Write failed because No space left on device\n",
        "A disk is full",
    ),
    "an index that is skipped": (
        "Could not fetch URL wheels/torch.html: There was a problem confirming the ssl "
        "certificate: certificate verify failed - skipping\n"
        "ERROR: Could not find a version that satisfies the requirement torch==9 (from versions: 2.0, 2.1)\n",
        "TLS fails",
    ),
    "why a service does not start": (
        "Unable to start service ras: Job for ras.service failed because it took too long.\n"
        "ras[7]: fatal: open /var/lib/ras/db: No space left on device\n",
        "A disk is full",
    ),
    "what no retry mended": (
        "RuntimeError: Error 802: system not yet initialized\nprobe failed\ngiving up after 3 probes\n",
        "The fabric manager",
    ),
}


@pytest.mark.parametrize(("log", "cause"), ROOTS.values(), ids=ROOTS)
def test_the_root_is(log, cause):
    assert _diagnose(log)[0].cause.startswith(cause)
