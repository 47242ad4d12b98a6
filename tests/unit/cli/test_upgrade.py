# SPDX-License-Identifier: Apache-2.0
"""``rekindle upgrade``: two runs in turn, and what the later release breaks, takes more of, or changes."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, PASS, PLAN, add_host, fill

from rekindle.cli import upgrade
from rekindle.results.contents import gather_results

FAILED = replace(FAIL, host="gpu-1", cause="The loss of site-1 is nan.")
HEAVIER = replace(
    PASS,
    duration_s=400.0,
    host_memory_mib={"server": 500, "site-1": 1200},
    devices=tuple(replace(device, peak_memory_mib=1024) for device in PASS.devices),
    rounds=tuple(one for one in PASS.rounds if one.round < 1),
    final_metrics={"accuracy": 0.95},
)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Return what makes both runs of site.yml leave given verdicts on gpu-1, and the options of each run."""

    def leave(before, after, statuses=(0, 0), measured=None, **hosts):
        asked = []

        def play(playbook, arguments, json, read):
            options = dict(re.findall(r"(rekindle_\w+)=(\S+)", " ".join(arguments)))
            asked.append(options)
            verdict, status = ((before, after)[len(asked) - 1], statuses[len(asked) - 1])
            folder = Path(options.get("rekindle_results", tmp_path / "results/run"))
            if verdict is None:
                return status, None
            jobs = ("acceptance", "pt_ddp") if measured else ("pt_ddp",)
            plan = replace(PLAN, jobs=jobs, nvflare=options.get("rekindle_nvflare", "2.7.3"))
            add_host(fill(folder, "gpu-1"), "gpu-1", verdict=verdict, plan=plan, **hosts)
            if measured:
                accepted = replace(PASS if measured == "PASS" else FAILED, job="acceptance")
                add_host(folder, "gpu-1", verdict=accepted, plan=plan)
            return status, read(folder)

        monkeypatch.setattr(upgrade, "start_playbook", play)
        return asked

    return leave


def test_what_passes_after_it_too_is_good_and_what_differs_is_shown(call, runs, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    asked = runs(replace(PASS, host_memory_mib={"server": 500, "site-1": 500}), HEAVIER)
    status, out, _ = call("upgrade", "2.9.0", "-i", "lease_hosts")
    assert status == 0
    second = {"rekindle_nvflare": "2.9.0", "rekindle_accept": "off"}
    assert asked == [{}, second | {"rekindle_results": f"{tmp_path}/results/run-nvflare2.9.0"}]
    text = " ".join(out.split())
    for figure in ("duration 200.4 → 400 s", "NVFlare's memory 1000 → 1700 MiB", "rounds 3 → 1"):
        assert f"gpu-1: pt_ddp: {figure}" in text
    assert "accuracy" not in text
    assert "1 of 1 jobs that pass with NVFlare 2.7.3 pass with 2.9.0." in text
    assert out.splitlines()[-2:] == [f"{tmp_path}/results/run{name}" for name in ("", "-nvflare2.9.0")]


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [(PASS, FAILED, 1), (FAILED, FAILED, 3), (FAILED, PASS, 3)],
    ids=["breaks", "never passed", "mended"],
)
def test_something_that_passed_and_would_break_is_bad_and_without_any_nothing_is_known(
    call, runs, before, after, status
):
    runs(before, after, statuses=(int(before is FAILED), int(after is FAILED)))
    found, out, _ = call("upgrade", "2.8.3")
    assert found == status
    assert ("It would break: pt_ddp on gpu-1." in out) == (status == 1)
    assert ("PASS → FAIL: The loss of site-1 is nan." in out) == (status == 1)


def test_a_job_whose_host_vanished_in_the_later_run_breaks(ask, runs, monkeypatch):
    runs(PASS, PASS)
    play = upgrade.start_playbook

    def vanishes(playbook, arguments, json, read):
        status, (folder, _) = play(playbook, arguments, json, read)
        if folder.name != "run":
            (folder / "gpu-1/pt_ddp/verdict.json").unlink()
            left = {"left": "It vanished.", "state": "unreachable"}
            add_host(folder, "gpu-1", verdict=None, plan=replace(PLAN, nvflare="2.9.0"), **left)
        return status, (folder, gather_results(folder))

    monkeypatch.setattr(upgrade, "start_playbook", vanishes)
    status, found = ask("upgrade", "2.9.0")
    (job,) = found["jobs"]
    assert (status, job["before"], job["after"], job["figures"]) == (1, "PASS", "LOST", [])


@pytest.mark.parametrize(("measured", "again"), [("PASS", "off"), ("FAIL", None)])
def test_gpus_that_were_accepted_are_not_measured_again(ask, runs, measured, again):
    asked = runs(PASS, PASS, measured=measured)
    _, found = ask("upgrade", "2.9.0")
    assert asked[1].get("rekindle_accept") == again
    assert [job["job"] for job in found["jobs"]] == ["pt_ddp"]


@pytest.mark.parametrize(
    ("ended", "first"), [((3, 0), PASS), ((2, 0), None)], ids=["interrupted", "called wrongly"]
)
def test_without_a_first_run_there_is_no_second(call, runs, ended, first):
    asked = runs(first, PASS, statuses=ended)
    assert call("upgrade", "2.9.0")[0] == ended[0]
    assert len(asked) == 1


def test_called_wrongly_is_a_sentence_and_2(golden, call, runs):
    lines = []
    asked = runs(PASS, PASS)
    for arguments in (["2.9.1"], [], ["2.7.3"]):
        status, out, error = call("upgrade", *arguments)
        assert (status, out) == (2, "")
        lines.append(error.strip())
    assert len(asked) == 1
    golden(*lines)
