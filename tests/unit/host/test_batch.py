"""What a host asks SLURM for: its batch script, and its refusals."""

import os

import pytest

from rekindle.host import batch, slurm

ASKED = {"partition": "gpu", "nodes": 2, "gpus_per_node": 8, "time": "02:00:00", "account": "research"}
COMMAND = ["/envs/driver/bin/python", "-m", "rekindle.driver", "supervise", "/a b"]


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a job, which is not there yet."""
    return tmp_path / "toy-0123456789ab"


def submit(folder, **environ):
    batch.submit(folder, COMMAND, ["--nodes=2", *batch.options(ASKED)], {**os.environ, **environ})


def test_the_batch_script_can_be_read_and_the_job_is_kept(folder, queue):
    submit(folder)
    assert (folder / "batch.sh").read_text() == (
        "#!/bin/sh\n"
        "#SBATCH --job-name=rekindle-toy-0123456789ab\n"
        "#SBATCH --ntasks-per-node=1\n"
        "#SBATCH --no-requeue\n"
        "#SBATCH --signal=B:TERM@120\n"
        f"#SBATCH --output={folder}/slurm.log\n"
        f"#SBATCH --chdir={folder}\n"
        "#SBATCH --export=ALL\n"
        "#SBATCH --nodes=2\n"
        "#SBATCH --partition=gpu\n"
        "#SBATCH --account=research\n"
        "#SBATCH --time=02:00:00\n"
        "#SBATCH --gpus-per-node=8\n"
        "exec /envs/driver/bin/python -m rekindle.driver supervise '/a b'\n"
    )
    assert queue.asked("sbatch") == [f"--parsable {folder}/batch.sh"]
    assert (folder / "slurm.json").read_text() == '{"job": "77"}'


def test_what_a_session_asks_of_sbatch_does_not_reach_it(folder, queue):
    submit(folder, SBATCH_PARTITION="other", SLURM_JOB_ID="1", REKINDLE_X="kept")
    seen = queue.environ("sbatch")
    assert [name for name in seen if name.startswith(("SBATCH_", "SLURM_"))] == []
    assert seen["REKINDLE_X"] == "kept"


def test_only_what_is_asked_for_is_an_option():
    least = {"partition": "cpu", "time": "00:10:00", "account": None, "gpus_per_node": 0}
    assert batch.options(least) == ["--partition=cpu", "--time=00:10:00"]
    assert batch.options({**least, "extra": ["--exclusive"]})[-1] == "--exclusive"


def test_a_refusal_is_one_sentence_and_there_is_no_job(folder, queue):
    queue.say("sbatch", errors="sbatch: error: invalid\n  partition\n", status=1)
    with pytest.raises(batch.SlurmError) as refused:
        submit(folder)
    assert str(refused.value) == (
        f"SLURM does not take {folder}/batch.sh: sbatch: error: invalid partition. "
        "Fix: mend rekindle_slurm, or see what sinfo says."
    )
    assert not (folder / "slurm.json").exists()


def test_an_sbatch_that_is_not_there_or_hangs_is_one_sentence(folder, queue, tmp_path, monkeypatch):
    said = r"batch\.sh: sbatch does not answer\. Fix: "
    with pytest.raises(batch.SlurmError, match=said):
        submit(folder, PATH=str(tmp_path / "nowhere"))
    monkeypatch.setattr(slurm, "_LIMIT_S", 0.2)
    queue.put("sbatch", "#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(batch.SlurmError, match=said):
        submit(folder)
    assert not (folder / "slurm.json").exists()
