"""A recorded run over four hosts of a federation: it passes, and what breaks it is seen."""

import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from recorded_edits import edit, json_in, replaced, result_of

from rekindle.judge import judge

RECORDED = Path(__file__).parents[2] / "recordings/federations/pt_ddp-3-sites"
SERVED = "Connection [CN00099 10.77.0.11:8002 <= 10.77.0.99:40000{} is created: PID: 1"


STAMP = r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"


def later_stamp(stamp, seconds):
    moment = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S,%f") + timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]


@pytest.fixture
def run(tmp_path):
    return Path(shutil.copytree(RECORDED, tmp_path / "run"))


def printed(run, line):
    with (run / "job.log").open("a") as log:
        log.write(f"2026-11-25 18:00:00,000 - conn_manager - INFO - {line}\n")


def later(run, host, seconds):
    """Have the clock of a host be so much later, and all that it wrote."""
    with json_in(run / host / "clock.json") as clock:
        clock["offset_s"] += seconds
    for path in [run / f"samples-{host}.jsonl", *(run / "evidence").glob(f"{host}.*.jsonl")]:
        edit(path, r'"time": ?([\d.]+)', lambda match: f'"time":{float(match[1]) + seconds}')
    for path in (run / "job/workspace/pt_ddp" / host).glob("log*.txt"):
        if path.stat().st_size:
            edit(path, STAMP, lambda match: later_stamp(match[0], seconds))


def test_it_passes_as_any_other_run_does(run):
    verdict = judge(run)
    assert verdict.verdict == "PASS", verdict.cause
    messages = {result.claim: result.message for result in verdict.evidence}
    assert messages["only_sites_connected"] == "3 sites connected by TLS, each with its own certificate."
    assert re.search(
        r"the server waited \d\.\d s .* MiB a round, .*gpu-1 \d\.\d received",
        messages["rounds_over_the_network"],
    )


@pytest.mark.parametrize(
    ("line", "state", "message"),
    [
        (SERVED.format(" SSL gpu-9]"), "fails", "gpu-9, no site of the run, connected."),
        (SERVED.format("]"), "fails", "10.77.0.99 connected to the server without TLS."),
        (SERVED.format(" SSL gpu-2]"), "unknown", "gpu-2 connected from 10.77.0.13 and 10.77.0.99."),
        ("Client: New client gpu-9@10.77.0.99 joined. Sent token: x.", "fails", "gpu-9, which is no site"),
    ],
    ids=["a stranger", "without TLS", "a stolen kit", "a stranger joins"],
)
def test_who_else_connected_is_seen(run, line, state, message):
    printed(run, line)
    result = result_of(judge(run), "only_sites_connected")
    assert (result.state, message in result.message) == (state, True), result.message


def test_a_site_that_never_joined_is_unknown(run):
    replaced("job.log", r".*New client gpu-3@.*\n")(run)
    result = result_of(judge(run), "only_sites_connected")
    assert (result.state, "how gpu-3 joined" in result.message) == ("unknown", True)


def test_a_rank_on_another_host_is_seen(run):
    replaced("evidence/gpu-2.rank-1.jsonl", '"node": "gpu-2"', '"node": "gpu-1"')(run)
    result = result_of(judge(run), "ranks_on_their_nodes")
    assert (result.state, result.message) == ("fails", "gpu-2 rank 1 ran on gpu-1, and not on gpu-2.")


def test_clocks_of_hosts_may_differ(run):
    later(run, "gpu-2", 5000.0)
    verdict = judge(run)
    assert verdict.verdict == "PASS", verdict.cause


def test_times_that_no_clock_explains_are_seen(run):
    later(run, "gpu-2", 5000.0)
    with json_in(run / "gpu-2" / "clock.json") as clock:
        clock["offset_s"] -= 5000.0
    verdict = judge(run)
    assert verdict.verdict == "UNPROVEN", verdict.cause
