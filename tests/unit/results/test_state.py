# SPDX-License-Identifier: Apache-2.0
"""What the controller keeps of the runs that it sent: a nonce and a verdict each, for its owner alone."""

import threading
import time

import pytest
from msgspec.structs import replace

from rekindle.records import Allocation, Clock, RecordError, RunSpec, read_record
from rekindle.results import state
from rekindle.results.state import agree_nonce

QUEUED = Allocation(room="slurm", partition="cpu", time="01:00:00")
RUN = "/home/lease/rekindle/runs/pt_ddp-0123456789ab"


@pytest.fixture
def sent(recordings, request):
    """Return the spec that a run was sent with."""
    spec = read_record(recordings / "runs/pt_ddp-cpu-2/spec.json", RunSpec)
    return agree_nonce(RUN, replace(spec, host=request.node.name, nonce=""), again=False)


def test_the_nonce_is_kept_until_the_run_is_judged_as_no_pass_or_is_to_run_again(sent):
    def nonce(**more):
        return state.agree_nonce(RUN, replace(sent, nonce=""), **{"again": False, **more}).nonce

    first = sent.nonce
    assert len(first) == 32
    assert nonce() == nonce(again=True) == first  # it may still run
    state.note_verdict(RUN, sent, "PASS")
    assert nonce() == first
    second = nonce(again=True)
    assert second != first
    state.note_verdict(RUN, sent, "FAIL")  # of the first
    assert nonce() == second
    state.note_verdict(RUN, replace(sent, nonce=second), "FAIL")
    assert nonce() not in {first, second}


@pytest.mark.parametrize(
    ("asked", "slurm", "stays"),
    [
        ("2026-11-21T08:00:00Z", None, False),
        ("2026-11-21T09:50:00Z", None, True),  # it may still have run at 10:00
        ("2026-11-21T08:00:00Z", QUEUED, True),
        (None, None, True),
    ],
)
def test_a_run_that_was_never_collected_is_old_when_it_must_have_ended(sent, asked, slurm, stays):
    clock = asked and Clock(offset_s=0, error_s=0, asked=asked)
    spec = replace(sent, nonce="", host=f"{sent.host}-x", clock=clock, allocation=slurm)
    first = state.agree_nonce(RUN, spec, again=False)
    assert first.job.limit_s >= 600
    assert (state.agree_nonce(RUN, spec, again=False, oldest="2026-11-21T10:00:00Z") == first) is stays


def test_a_run_that_its_host_had_lost_and_ran_again_is_not_kept(sent):
    assert state.note_verdict(RUN, sent, "PASS", "2026-11-21T08:00:00Z") is None
    assert state.note_verdict(RUN, sent, "PASS", "2026-11-21T12:00:00Z") is None
    assert state.note_verdict(RUN, sent, "PASS", "2026-11-21T12:00:00Z") is not None
    assert state.note_verdict(RUN, sent, "FAIL", "2026-11-21T12:00:00Z") is None


def test_what_is_kept_is_its_owners_alone_and_lost_without_harm(sent, state):
    (kept,) = [path for path in (state / "sent").glob("*.json") if sent.nonce in path.read_text()]
    modes = [path.stat().st_mode & 0o777 for path in (state, state / "sent", kept)]
    assert modes == [0o700, 0o700, 0o600]
    kept.write_text("{")
    assert agree_nonce(RUN, sent, again=False).nonce != sent.nonce


def test_two_that_start_at_once_agree_on_one_nonce(sent, monkeypatch):
    spec, found, read_kept = replace(sent, nonce="", host=f"{sent.host}-2"), [], state.read_valid

    def slowly(path, kind):
        kept = read_kept(path, kind)
        time.sleep(0.3)  # in which the other one reads the same, if it may
        return kept

    monkeypatch.setattr(state, "read_valid", slowly)
    agrees = lambda: found.append(state.agree_nonce(RUN, spec, again=True))  # noqa: E731
    both = [threading.Thread(target=agrees) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(found) == 2
    assert len({agreed.nonce for agreed in found}) == 1


def test_the_state_s_folder_that_cannot_be_made_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(RecordError, match=r"Fix: have XDG_STATE_HOME name a folder of yours\."):
        state.make_state_folder("sent")
