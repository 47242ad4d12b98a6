# SPDX-License-Identifier: Apache-2.0
"""What the doctor finds, in the verdict."""

from samples.edits import edit

from rekindle.judge import judge_run

SITE_LOG = "job/workspace/pt_ddp/site-2/log.txt"


def _fail(run, *lines):
    edit(run / "ended.json", r'("exit_status": )\d+', r"\g<1>1")
    with (run / SITE_LOG).open("a") as stream:
        stream.writelines(f"2026-11-21 03:01:00,000 - SubprocessLauncher - INFO - {line}\n" for line in lines)


def test_a_failed_run_takes_cause_remedy_and_layer_from_the_root(clean_run):
    _fail(clean_run, "No module named 'tenseal'", "launcher completed with status failed")
    verdict = judge_run(clean_run)
    assert verdict.verdict == "FAIL"
    root, echo = verdict.findings
    assert (root.name, root.echo, echo.name, echo.echo) == ("tenseal_missing", False, "trainer_failed", True)
    assert (verdict.cause, verdict.remedy, verdict.layer) == (root.cause, root.remedy, "environment")
    assert root.file == SITE_LOG


def test_echoes_alone_leave_the_judge_its_own_sentence(clean_run):
    _fail(clean_run, "shareable data is not a valid DXO.")
    verdict = judge_run(clean_run)
    assert verdict.cause.startswith("job.py ended with status 1")
    assert verdict.layer == "job"
    assert [finding.echo for finding in verdict.findings] == [True]
    assert "evidence" in verdict.remedy


def test_what_is_merely_possible_leaves_it_too(clean_run):
    _fail(clean_run, "ConnectionRefusedError: [Errno 111] Connection refused")
    verdict = judge_run(clean_run)
    assert [(finding.name, finding.echo) for finding in verdict.findings] == [("connection_refused", False)]
    assert verdict.cause.startswith("job.py ended with status 1")


def test_what_is_raised_as_the_driver_dies_is_not_why_the_run_has_no_end(clean_run):
    (clean_run / "ended.json").unlink()
    raised = ("Traceback (most recent call last):", '  File "a.py", line 1, in run', "mine.Error: 15", "")
    (clean_run / "job.log").write_text("\n".join(raised))
    verdict = judge_run(clean_run)
    assert [finding.name for finding in verdict.findings] == ["exception"]
    assert verdict.verdict == "UNPROVEN"
    assert verdict.cause.startswith("The run has no record of its end:")


def test_a_run_that_passed_is_not_diagnosed(clean_run):
    line = r"\1\2 - SubprocessLauncher - INFO - we survived CUDA out of memory\n"
    edit(clean_run / SITE_LOG, r"((\S+ \S+) - SubprocessLauncher - .*\n)", line, count=1)
    verdict = judge_run(clean_run)
    assert (verdict.verdict, verdict.findings, verdict.layer) == ("PASS", (), None)
