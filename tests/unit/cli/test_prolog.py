# SPDX-License-Identifier: Apache-2.0
"""``rekindle accept --prolog``: really run here, with a stand-in nvidia-smi and scontrol on PATH."""

import subprocess
import time
from pathlib import Path

import pytest

from rekindle.cli import prolog
from rekindle.hostfacts import node as node_of_host
from rekindle.hostfacts.frames import parse_frames
from rekindle.records import Complaint
from rekindle.slurm.drain import format_drain, make_drain

RECORDING = (Path(__file__).parents[2] / "recordings/h200-x2-collect.txt").read_text()
FRAMES = parse_frames(RECORDING, RECORDING.split(maxsplit=1)[0].removeprefix("@@"))
SMI = """#!/bin/sh
case "$*" in
    '-q -x') cat {0}/xml ;;
    nvlink*) cat {0}/nvlink ;;
    *) cat {0}/query ;;
esac
"""
SCONTROL = """#!/bin/sh
[ "$2" = show ] && {{ echo "NodeName=n9 State={state}"; exit; }}
printf '%s\\n' "$@" >>{folder}/drained
{end}
"""


@pytest.fixture
def node(tmp_path, monkeypatch):
    """Be a node with two H200s and SLURM; return what changes its answers."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("SLURMD_NODENAME", "n9")
    monkeypatch.setattr(node_of_host, "LIMIT_S", 30)  # these tests may run beside others
    monkeypatch.setattr(prolog, "_GIVEN_UP_S", 60)

    def put(name, text):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)

    put("nvidia-smi", SMI.format(tmp_path))
    put("scontrol", SCONTROL.format(folder=tmp_path, state="IDLE", end=""))
    put("dmesg", "#!/bin/sh\n")
    (tmp_path / "nvlink").write_text(FRAMES["nvidia-nvlink"].text)
    (tmp_path / "query").write_text(FRAMES["nvidia-query"].text)

    def change(old="", new="", *, program="", text=""):
        (tmp_path / "xml").write_text(FRAMES["nvidia-smi"].text.replace(old, new, 1))
        if program:
            put(program, text)
        return tmp_path

    change()
    return change


FAILED = ("remapped_row_failure>No<", "remapped_row_failure>Yes<")


def test_a_right_node_is_one_line_and_0(node, call):
    assert call("accept", "--prolog") == (0, "n9: NONE: its 2 GPUs are right.\n", "")
    assert call("accept", "--prolog", "--drain") == (0, "", "")


def test_what_asks_for_nothing_is_noted(node, call):
    node("<current_mig>Disabled<", "<current_mig>Enabled<")
    status, out, _ = call("accept", "--prolog")
    assert (status, out.startswith("n9: NONE: its 2 GPUs are right, and noted is: GPU 0 (NVIDIA H200)")) == (
        0,
        True,
    )


def test_a_node_that_is_not_right_is_1_and_its_json_has_each_finding(node, call, ask):
    node(*FAILED)
    status, out, _ = call("accept", "--prolog")
    assert (status, out.count("\n")) == (1, 1)
    assert out.startswith(
        "n9: REPLACE: GPU 0 (GPU-95834940-9633-43b7-5054-558dc30a66c9) failed to remap a row."
    )
    status, found = ask("accept", "--prolog")
    assert (status, found["action"], len(found["findings"])) == (1, "REPLACE", 1)
    assert found["drain"].startswith(
        'scontrol update NodeName=n9 State=DRAIN Reason="rekindle: REPLACE: GPU 0'
    )


def test_all_of_it_takes_less_than_three_seconds():
    assert node_of_host.LIMIT_S < prolog._GIVEN_UP_S < 3


def test_the_kernel_s_log_and_what_hangs_in_the_driver_are_seen(node, call):
    up = float(Path("/proc/uptime").read_text().split()[0])
    line = f"[{up - 30:.6f}] NVRM: Xid (PCI:0000:00:06): 79, pid=7, GPU has fallen off the bus."
    node(program="dmesg", text=f"#!/bin/sh\necho 'x'\necho '{line}'\n")
    status, out, _ = call("accept", "--prolog")
    assert (status, "REBOOT: GPU 0" in out, "has just reported Xid 79" in out) == (1, True, True)
    node(program="ps", text="#!/bin/sh\necho '  7 S 9000 nvidia-smi'\necho '812 D 4000 nvidia-smi'\n")
    status, out, _ = call("accept", "--prolog")
    assert (status, "nvidia-smi (process 812) has hung in the driver for 4000 s" in out) == (1, True)


def test_a_hung_nvidia_smi_is_left_alone_and_2(node, call, monkeypatch):
    monkeypatch.setattr(node_of_host, "LIMIT_S", 2)
    node(program="nvidia-smi", text="#!/bin/sh\nexec sleep 600\n")
    began = time.monotonic()
    status, out, _ = call("accept", "--prolog")
    assert time.monotonic() - began < 60
    assert (status, "nvidia-smi -q -x timed out after 2 s" in out) == (2, True)
    assert call("accept", "--prolog", "--drain")[:2] == (2, "")


def test_a_shell_that_never_answers_is_given_up(node, call, monkeypatch):
    monkeypatch.setattr(prolog, "_GIVEN_UP_S", 0.2)
    node(program="sh", text="#!/bin/bash\nexec sleep 600\n")
    status, out, err = call("accept", "--prolog")
    assert (status, out) == (2, "")
    assert err.startswith("This node did not answer within 0.2 s.")


def test_the_line_that_drains_runs_in_a_shell_and_a_host_s_words_do_not(node, call):
    evil = "Insufficient `touch evil` $(touch evil) \"; touch evil; é # 'x'"
    folder = node("<status>Success<", f"<status>{evil.replace('<', '')}<")
    status, out, _ = call("accept", "--prolog", "--drain")
    assert (status, out.count("\n")) == (1, 1)
    subprocess.run(["sh", "-c", out], check=True, cwd=folder, timeout=20)
    words = (folder / "drained").read_text().splitlines()
    assert words[:3] == ["update", "NodeName=n9", "State=DRAIN"]
    assert words[3].startswith("Reason=rekindle: DRAIN: GPU 0 (GPU-")
    assert len(words) == 4
    assert len(words[3]) <= 207
    assert not (folder / "evil").exists()


@pytest.mark.parametrize(
    ("state", "end", "said"),
    [
        ("IDLE", "", "It was drained."),
        ("IDLE+DRAIN", "", "It is drained already, and its reason stays."),
        (
            "IDLE",
            "echo 'Access denied' >&2; exit 1",
            "It is not drained: scontrol refused: Access denied.",
        ),
    ],
)
def test_it_runs_scontrol_if_asked_to(node, call, state, end, said):
    folder = node(*FAILED)
    node(*FAILED, program="scontrol", text=SCONTROL.format(folder=folder, state=state, end=end))
    status, out, _ = call("accept", "--prolog", "--drain", "--now")
    assert (status, said in out, (folder / "drained").exists()) == (1, True, "already" not in said)


@pytest.mark.parametrize(
    "options", [["--drain"], ["--now"], ["--prolog", "--now"], ["--prolog", "--make-norms", "x"]]
)
def test_options_that_do_not_go_together_are_refused(call, options):
    status, out, err = call("accept", *options)
    assert (status, out, "Fix: " in err) == (2, "", True)


def test_a_reason_is_one_short_line_and_a_name_a_plain_one():
    words = make_drain("n9", "a\nb" + "x" * 1000)
    assert format_drain(words) == f'scontrol update NodeName=n9 State=DRAIN Reason="a b{"x" * 197}"'
    for name in ("", "n 9", "n9;x", "-n9", "$(x)"):
        with pytest.raises(Complaint):
            make_drain(name, "x")
