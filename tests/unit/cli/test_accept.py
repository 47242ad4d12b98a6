# SPDX-License-Identifier: Apache-2.0
"""``rekindle accept``: what it takes, what it prints, and its statuses."""

from samples.fleets import accepted, edited, kind, times, value
from samples.folders import fill_accepted as fill


def test_a_healthy_fleet_is_good(call, tmp_path):
    status, out, _ = call("accept", fill(tmp_path, *(accepted(f"gpu-{n}", kind(4)) for n in range(3))))
    assert status == 0
    assert out.startswith("3 of 3 hosts PASS.\n\nThe worst GPUs:\n")
    assert out.count("which is within limits") == 3


def test_findings_name_host_and_gpu_and_the_worst_comes_first(call, tmp_path):
    fleet = [accepted(f"gpu-{n}", kind(4)) for n in range(3)]
    fleet[1] = edited(fleet[1], "bf16_matmul", times(0.8), 3)
    fleet[2] = edited(fleet[2], "product_differs", value(5), 1)
    status, out, _ = call("accept", fill(tmp_path / "results" / "1", *fleet))
    assert status == 1
    assert out.startswith("1 of 3 hosts PASS.")
    assert "gpu-2: FAIL, REPLACE: GPU 1 (GPU-gpu-2-1): product_differs is 5 values" in out
    assert out.split("The worst GPUs:\n  ")[1].startswith("gpu-1: GPU 3 (GPU-gpu-1-3): bf16_matmul is")
    assert call("accept", tmp_path / "results")[1] == out


def test_its_json_has_each_flaw(ask, tmp_path):
    odd = accepted("gpu-1")
    folder = fill(tmp_path, odd, edited(accepted("gpu-2"), "device_copy", value(0.0), 0))
    status, found = ask("accept", folder)
    assert (status, found["state"], found["schema"]) == (1, "failed", "rekindle/accepted/1")
    assert found["hosts"][1]["flaws"][0]["uuid"] == "GPU-gpu-2-0"


def test_without_a_record_it_was_called_wrongly(call, tmp_path):
    status, _, err = call("accept", fill(tmp_path))
    assert (status, err) == (
        2,
        "No acceptance.json is in these runs. Fix: run rekindle site -i lease_hosts --job acceptance.\n",
    )
    assert call("accept", tmp_path / "nowhere")[0] == 2


def test_hostile_texts_are_not_obeyed(call, tmp_path):
    evil = "\x1b]0;evil\x07\x1b[31m\nGPU"
    record = edited(accepted("gpu-1", kind(4, evil)), "xids", value(None, message=evil), 0)
    status, out, _ = call("accept", fill(tmp_path, record))
    assert status == 1
    assert "\x1b" not in out
    assert "xids was not measured: GPU" in out
