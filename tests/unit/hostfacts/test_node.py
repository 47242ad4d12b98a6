# SPDX-License-Identifier: Apache-2.0
"""A node's GPUs by preflight's own probes: each is an edit of what a recorded host answered."""

import re

import pytest
from answers import FRAMES, XML

from rekindle.hostfacts.frames import COLLECTOR, Frame
from rekindle.hostfacts.node import _PROBES, look_at_node

UP = "5000.25 9000.00\n"
XID = "[ {:.6f}] NVRM: Xid (PCI:0000:00:06): {}, pid=7, name=python\n"
FABRIC = XML.replace("<state>Completed<", "<state>In Progress<").replace("<status>Success<", "<status>N/A<")
SHOWN = re.sub(r'<gpu id="00000000:00:07.0">[\s\S]*?</gpu>', "", XML)
LOST = f"Unable to determine the device handle for GPU1: 0000:00:07.0: GPU is lost.\n{SHOWN}"


def set_first(tag, text):
    assert f"<{tag}>" in XML
    return re.sub(f"<{tag}>[^<]*<", f"<{tag}>{text}<", XML, count=1)


def look(**changed):
    """Return what is found on the recorded host with some frames replaced; text alone is a success."""
    known = {name: FRAMES.get(name, Frame("0", "")) for name in ("limit", *_PROBES)}
    for name, frame in changed.items():
        known[name.replace("_", "-")] = Frame("0", frame) if isinstance(frame, str) else frame

    def answer(command, **_):
        nonce = command.split()[3]
        framed = (f"@@{nonce} {name} {frame.status}\n{frame.text}\n" for name, frame in known.items())
        return {"rc": 0, "stdout": "".join(framed) + f"@@{nonce} end 0\n", "stderr": ""}

    return look_at_node(answer, "n9")


def test_what_is_right_has_no_finding():
    assert look() == (2, [])


def test_the_collector_has_every_probe():
    script = COLLECTOR.read_text()
    assert all(f"    probe {name} " in script for name in _PROBES)


@pytest.mark.parametrize(
    ("changed", "action", "message"),
    [
        ({"nvidia_smi": set_first("remapped_row_failure", "Yes")}, "REPLACE", "failed to remap a row"),
        ({"nvidia_smi": set_first("remapped_row_pending", "Yes")}, "RESET_GPU", "waits for a row remap"),
        ({"nvidia_smi": set_first("dram_uncorrectable", "2")}, "RESET_GPU", "2 uncorrected ECC errors"),
        ({"nvidia_smi": set_first("compute_mode", "Prohibited")}, "DRAIN", "is in compute mode Prohibited"),
        ({"nvidia_smi": FABRIC}, "RETEST", "has not joined the NVSwitch fabric"),
        (
            {"nvidia_smi": XML.replace("hw_thermal_slowdown>Not Active", "hw_thermal_slowdown>Active", 1)},
            "DRAIN",
            "is slowed down by its hardware",
        ),
        ({"nvidia_smi": Frame("15", LOST), "nvidia_query": ""}, "REBOOT", "is lost"),
        (
            {"nvidia_nvlink": FRAMES["nvidia-nvlink"].text.replace("26.562 GB/s", "<inactive>", 1)},
            "RESET_GPU",
            "has 17 of its 18 NVLinks up",
        ),
        ({"xids": UP + XID.format(4900, 79)}, "REBOOT", "has just reported Xid 79 (GPU has fallen off"),
        ({"xids": UP + XID.format(4900, 4_000)}, "DRAIN", "Xid 4000 (not in our list"),
        ({"stuck": Frame("1", "812 4000\n")}, "REBOOT", "nvidia-smi (process 812) has hung in the driver"),
        ({"nvidia_smi": Frame("timeout", ""), "nvidia_query": Frame("timeout", "")}, "RETEST", "timed out"),
        ({"nvidia_smi": Frame("timeout", "")}, "RETEST", "The GPUs' health cannot be known"),
        ({"pci": Frame("0", FRAMES["pci"].text + "\n0000:00:08.0 2335 nvidia")}, "REBOOT", "shows 2"),
        (
            {"cuda": Frame("5", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): mismatch")},
            "REBOOT",
            "CUDA does not start",
        ),
    ],
)
def test_what_is_wrong_is_found_with_its_action(changed, action, message):
    _, found = look(**changed)
    assert found
    assert (found[0].action, message in found[0].message) == (action, True), str(found[0])
    assert found[0].fix


@pytest.mark.parametrize(
    "changed",
    [
        {"xids": UP + XID.format(100, 79)},  # of an hour ago: the GPU may have been reset since
        {"xids": UP + XID.format(4900, 13)},  # an application's own
        {"xids": UP + "NVRM: Xid (PCI:0000:00:06): 79, pid=7\n"},  # of unknown age
        {"xids": Frame("1", "dmesg: read kernel buffer failed: Operation not permitted")},
        {"xids": UP + XID.format(4900, 79).replace("00:06", "00:09")},  # another's GPU
        {"nvidia_smi": set_first("current_mig", "Enabled")},
        {"nvidia_smi": set_first("used", "40000 MiB")},  # another job's
        {"nvidia_nvlink": re.sub(r"[0-9.]+ GB/s", "<inactive>", FRAMES["nvidia-nvlink"].text)},
    ],
)
def test_what_is_no_fault_of_the_node_asks_for_nothing(changed):
    _, found = look(**changed)
    assert {complaint.action for complaint in found} <= {"NONE"}, list(map(str, found))


def test_the_most_severe_comes_first():
    both = set_first("compute_mode", "Prohibited").replace("_failure>No<", "_failure>Yes<", 1)
    _, found = look(nvidia_smi=both)
    assert [complaint.action for complaint in found] == ["REPLACE", "DRAIN"]


def test_a_node_without_a_trace_of_a_gpu_is_not_called_right():
    nothing = dict.fromkeys(("nvidia_smi", "nvidia_query", "nvidia_nvlink"), Frame("127", "not found"))
    nothing |= {"pci": "", "driver_sys": Frame("1", ""), "driver_proc": Frame("1", "")}
    _, found = look(**nothing)
    (complaint,) = found
    assert complaint.action == "RETEST"
    assert "no NVIDIA GPUs are on the PCI bus: nvidia-smi is not on this host" in complaint.message
