# SPDX-License-Identifier: Apache-2.0
"""Placing a job again: under which nonce it runs, and when its host is asked whether it has passed."""

import shutil
import time
from datetime import datetime, timedelta, timezone

import pytest
from msgspec.structs import replace

from rekindle.records import HostRecord, format_time, read_record, write_record
from rekindle.results import state


def test_the_same_is_the_same_run_and_other_inputs_are_another(place, home):
    first = place()
    assert place() == first
    (payload,) = (home.parent / "payload").iterdir()
    shutil.copy(payload, payload.with_name("rekindle-ba9876543210.zip"))
    assert place(payload="/tmp/rekindle/jobs/rekindle-ba9876543210.zip")["run"] != first["run"]
    assert place(arguments={"pt_ddp": {"local_epoch": 3}})["run"] != first["run"]


def test_what_passed_runs_under_another_nonce_only_if_it_is_asked_to(place):
    first = place()
    state.note_verdict(first["run"], state.read_sent("h200", first["run"]), "PASS")
    assert place()["spec"] == first["spec"]
    again = place(rerun=True)
    assert again["run"] == first["run"]
    assert again["spec"]["nonce"] != first["spec"]["nonce"]


def test_a_host_on_which_it_finished_is_asked_and_believed_only_of_a_run_that_was_sent_to_it(place):
    asked, says = [], ["finished"]

    def execute(command):
        asked.append("finished" if " rekindle.driver.outcome " in command else "time")
        said = time.time() if asked[-1] == "time" else says[0]
        return {"rc": 0, "stdout": f"Welcome\n{said}\n", "stderr": ""}

    first = place(execute=execute)
    assert (first["finished"], asked) == (False, ["time"])
    assert place(execute=execute) == {**first, "finished": True}
    for says[0] in ("", "finished not", "sh: python: not found"):
        assert place(execute=execute) == first
    assert asked == ["time", *["finished"] * 4]
    says[0] = "finished"
    assert place(execute=execute, rerun=True)["finished"] is False
    state.note_verdict(first["run"], state.read_sent("h200", first["run"]), "PASS")
    assert place(execute=execute, rerun=True)["spec"]["nonce"] != first["spec"]["nonce"]
    assert asked[5:] == ["time"]


def test_what_passed_runs_again_when_it_is_older_than_it_may_be(place):
    first = place()
    sent = state.read_sent("h200", first["run"])
    state.note_verdict(first["run"], sent, "PASS")
    assert place(max_age="1m")["spec"] == first["spec"]
    (kept,) = (state.make_state_folder("sent")).glob("*.json")
    earlier = format_time(datetime.now(timezone.utc) - timedelta(hours=2))
    write_record(kept, replace(read_record(kept, state.SentRun), at=earlier))
    assert place(max_age="3h")["spec"] == place()["spec"] == first["spec"]
    again = place(max_age="1h30m")["spec"]
    assert again["nonce"] != first["spec"]["nonce"]
    assert place(max_age="1h30m")["spec"] == again  # which is followed


@pytest.mark.parametrize("judged", ["PASS", None])
def test_after_a_reboot_the_gpus_run_it_again_whether_it_had_passed_or_was_cut(place, home, judged):
    """The host was up again before the same command was typed, and each job is placed once more."""
    host = read_record(home / "host.json", HostRecord)
    write_record(home / "host.json", replace(host, boot="one"))
    first = place()
    if judged:
        state.note_verdict(first["run"], state.read_sent("h200", first["run"]), judged)
    assert place()["spec"] == first["spec"]
    write_record(home / "host.json", replace(host, boot="two"))
    again = place()
    assert again["spec"]["versions"] == {**first["spec"]["versions"], "boot": "two"}
    assert again["spec"]["nonce"] != first["spec"]["nonce"]
    assert again["run"] != first["run"]
    assert place() == again  # which is followed
