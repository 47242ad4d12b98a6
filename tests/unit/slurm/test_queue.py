# SPDX-License-Identifier: Apache-2.0
"""What a host asks SLURM for, its refusals, and what its answers mean."""

import os
import time

import pytest

from rekindle.host import queues
from rekindle.slurm import batch, commands
from rekindle.slurm.queue import ask_state, measure_wait, record_end

ASKED = {
    **{"room": "slurm", "partition": "gpu", "nodes": 2, "gpus_per_node": 8, "time": "02:00:00"},
    "account": "research",
}


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a job, which is not there yet."""
    return tmp_path / "toy-0123456789ab"


WAITS, EXPECTED = "job 77 waits in SLURM's queue", ", and is expected to start at 2026-11-21T12:00:00"


def submit(folder):
    queues.submit_job(folder, ["true"], ASKED, os.environ)


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ({"message": "RUNNING|None|2026-11-21T12:00:00\n"}, ("held", "")),
        ({"message": "SUSPENDED|None|2026-11-21T12:00:00|gpu\n"}, ("held", "job 77 is suspended by SLURM")),
        ({"message": "STOPPED|None|2026-11-21T12:00:00|gpu\n"}, ("held", "job 77 is suspended by SLURM")),
        ({"message": "COMPLETING|None|2026-11-21T12:00:00\n"}, ("held", "")),
        ({"message": "PENDING|Resources|N/A\n"}, ("held", f"{WAITS} for Resources")),
        ({"message": "PENDING|Priority|2026-11-21T12:00:00\n"}, ("held", f"{WAITS} for Priority{EXPECTED}")),
        ({"message": "PENDING|None|\n"}, ("held", WAITS)),
        ({"message": ""}, ("free", "")),
        ({"errors": "slurm_load_jobs error: Invalid job id specified", "status": 1}, ("free", "")),
        ({"errors": "Unable to contact slurm controller", "status": 1}, ("unknown", "")),
    ],
)
def test_the_state_of_a_job_in_the_queue(folder, queue, answer, seen):
    submit(folder)
    queue.set("squeue", **answer)
    assert ask_state(folder) == seen
    assert queues.is_queued(folder) is (seen[0] != "free")
    assert queue.asked("squeue")[0] == "--noheader --jobs=77 --format=%T|%r|%S|%P"


SQUEUE = """#!/bin/sh
printf '%s\\n' "$*" >> {kept}.asked
env > {kept}.environ
case "$*" in
*--jobs=77*) echo 'PENDING|{own}' ;;
*) printf %b '{waiting}'; exit {status} ;;
esac
"""


LONG_FIRST, GPU_FIRST = "Priority|N/A|long,gpu", "Priority|N/A|gpu,long"


def waits(queue, waiting, own="Priority|N/A|gpu", private="none", status=0):
    """Have job 77 wait, and squeue and scontrol list those that wait with it."""
    values = {"waiting": "".join(f"{line}\\n" for line in waiting), "own": own, "status": status}
    queue.put("squeue", SQUEUE.format(kept=queue.folder / "squeue", **values))
    queue.set("scontrol", f"ClusterName = lab\nPrivateData             = {private}\nX = y\n")


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ({"waiting": ["12|gpu", "77|gpu", "78|gpu"]}, ", 2 of 3 in gpu,"),
        ({"waiting": ["77|gpu"], "private": "accounts,usage"}, ", 1 of 1 in gpu,"),
        ({"waiting": ["12_1|gpu", "12_2|gpu", "9_[1-4%2]|gpu", "177|gpu", "77|gpu"]}, ", 5 of 5 in gpu,"),
        ({"waiting": ["5|long", "77|long", "7|gpu", "77|gpu"], "own": LONG_FIRST}, ", 2 of 2 in gpu,"),
        ({"waiting": ["5|gpu,long", "77|gpu,long", "8|long"], "own": GPU_FIRST}, ", 2 of 2 in gpu,"),
        ({"waiting": ["12|gpu", "177|gpu"]}, ""),
        ({"waiting": ["no such words", "", "|", "77"]}, ""),
        ({"waiting": ["12|gpu", "77|gpu"], "status": 1}, ""),
        ({"waiting": []}, ""),
        ({"waiting": ["77|gpu"], "private": "jobs"}, ""),
        ({"waiting": ["77|gpu"], "private": "accounts,jobs,usage"}, ""),
    ],
)
def test_the_place_of_a_job_among_those_that_wait_is_known_where_squeue_shows_all(
    folder, queue, answer, place
):
    submit(folder)
    waits(queue, **answer)
    assert ask_state(folder) == ("held", f"job 77 waits in SLURM's queue{place} for Priority")


def test_all_that_wait_are_asked_for_once_in_half_a_minute(folder, queue):
    """The list is expensive for SLURM's controller, and a poll comes every two seconds."""
    submit(folder)
    waits(queue, ["12|gpu", "77|gpu"])
    first = ask_state(folder)
    waits(queue, ["77|gpu"])
    assert [ask_state(folder), ask_state(folder)] == [first, first]
    listed = "--noheader --states=PENDING --array --priority --sort=-p,i --partition=gpu --format=%i|%P"
    assert [words for words in queue.asked("squeue") if "--jobs=77" not in words] == [listed]
    os.utime(folder / "slurm-place.txt", (time.time() - 31,) * 2)
    assert ask_state(folder)[1] == "job 77 waits in SLURM's queue, 1 of 1 in gpu, for Priority"


def test_the_place_of_the_job_before_is_not_this_ones(folder, queue):
    submit(folder)
    (folder / "slurm-place.txt").write_text("7 1 of 9 in gpu")
    waits(queue, ["12|gpu", "77|gpu"])
    assert ask_state(folder)[1] == "job 77 waits in SLURM's queue, 2 of 2 in gpu, for Priority"


def test_what_a_user_has_squeue_show_changes_nothing(folder, queue, monkeypatch):
    submit(folder)
    monkeypatch.setenv("SQUEUE_USERS", "me")
    waits(queue, ["12|gpu", "77|gpu"])
    ask_state(folder)
    assert "SQUEUE_USERS" not in queue.environ("squeue")


def test_without_a_squeue_it_is_not_known(folder, queue, tmp_path, monkeypatch):
    submit(folder)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert ask_state(folder) == ("unknown", "")
    assert queues.is_queued(folder)


UNKNOWN = '{"room": "nosuch", "job": "77"}'


@pytest.mark.parametrize("text", [None, "", "[]", '{"other": 1}', UNKNOWN, UNKNOWN.replace("nosuch", "../x")])
def test_without_a_job_nobody_is_asked(folder, queue, text):
    folder.mkdir()
    if text is not None:
        (folder / "queue.json").write_text(text)
    assert not queues.is_queued(folder)
    queues.cancel_queued(folder)
    assert queue.asked("squeue") == queue.asked("scancel") == []


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("JobId=77 SubmitTime=2026-11-22T21:00:10 StartTime=2026-11-22T21:02:00 EndTime=y\n", 110),
        ("JobId=77 SubmitTime=2026-11-22T21:00:10 StartTime=Unknown\n", None),
        ("", None),
    ],
)
def test_how_long_a_job_was_in_the_queue_is_slurms_figure(folder, queue, message, seconds):
    submit(folder)
    queue.set("scontrol", message)
    assert measure_wait(folder) == seconds


@pytest.mark.parametrize(
    ("shown", "message", "given"),
    [
        ("JobState=TIMEOUT Reason=TimeLimit", "SLURM ended job 77: TIMEOUT.", None),
        ("JobState=NODE_FAIL NodeList=n[9-10]", "SLURM ended job 77: NODE_FAIL, as n10 down.", "n[9-10]"),
        ("JobState=COMPLETING NodeList=n9", "SLURM ended job 77: COMPLETING, as n10 down.", "n9,n10"),
        ("JobState=RUNNING TimeLimit=2:00", "Job 77 of SLURM is near the end of its time, 2:00.", None),
        ("nothing of it", "SLURM ended job 77: it gives no reason.", None),
        ("", "SLURM ended job 77: it gives no reason.", None),
    ],
)
def test_the_end_of_a_job_is_kept_as_slurm_knows_it_with_the_nodes_that_it_lost(
    folder, queue, shown, message, given
):
    submit(folder)
    if given == "n9,n10":  # SLURM forgets a node that was lost, and the run's spec has it
        (folder / "spec.json").write_text('{"nodes": ["n9", "n10"]}')
    queue.set("scontrol", shown, errors="Invalid job id", status=int(not shown))
    queue.set("sinfo", "n10 down\n")
    assert record_end(folder) == message
    assert queue.asked("scontrol") == ["--oneliner show job 77"]
    assert [f"--nodes={given}" in words for words in queue.asked("sinfo")] == [True] * bool(given)
    assert (folder / "slurm-job.log").read_text() == shown + "n10 down\n" * bool(given)


COMMAND = ["/envs/driver/bin/python", "-m", "rekindle.driver", "supervise", "/a b"]


def submit_asked(folder, **environ):
    queues.submit_job(folder, COMMAND, ASKED, {**os.environ, **environ})


def test_the_batch_script_can_be_read_and_the_job_is_kept(golden, folder, queue):
    submit_asked(folder)
    golden(*(folder / "batch.sh").read_text().split("\n"))
    assert queue.asked("sbatch") == [f"--parsable {folder}/batch.sh"]
    assert (folder / "queue.json").read_text() == '{"room": "slurm", "job": "77"}'


def test_what_a_session_asks_of_sbatch_does_not_reach_it(folder, queue):
    submit_asked(folder, SBATCH_PARTITION="other", SLURM_JOB_ID="1", REKINDLE_X="kept")
    seen = queue.environ("sbatch")
    assert [name for name in seen if name.startswith(("SBATCH_", "SLURM_"))] == []
    assert seen["REKINDLE_X"] == "kept"


def test_only_what_is_asked_for_is_an_option():
    least = {"partition": "cpu", "time": "00:10:00", "account": None, "gpus_per_node": 0}
    assert batch.make_options(least) == ["--partition=cpu", "--time=00:10:00"]
    assert batch.make_options({**least, "extra": ["--exclusive"]})[-1] == "--exclusive"


def test_a_refusal_is_one_sentence_and_there_is_no_job(golden, folder, queue):
    queue.set("sbatch", errors="sbatch: error: invalid\n  partition\n", status=1)
    with pytest.raises(queues.QueueError) as refused:
        submit_asked(folder)
    golden(str(refused.value))
    assert not (folder / "queue.json").exists()


def test_an_sbatch_that_is_not_there_or_hangs_is_one_sentence(folder, queue, tmp_path, monkeypatch):
    message = r"batch\.sh: sbatch does not answer\. Fix: "
    with pytest.raises(queues.QueueError, match=message):
        submit_asked(folder, PATH=str(tmp_path / "nowhere"))
    monkeypatch.setattr(commands, "_LIMIT_S", 0.2)
    queue.put("sbatch", "#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(queues.QueueError, match=message):
        submit_asked(folder)
    assert not (folder / "queue.json").exists()
