# SPDX-License-Identifier: Apache-2.0
"""Norms of the user's own: made of hosts that are right, and used before ours."""

import json
import shutil

import pytest
from msgspec.structs import replace
from samples.edits import each_event
from samples.fleets import accepted, edited, kind, times

from rekindle.acceptance import evaluate_figures, judge_acceptance, make_norms, read_norms
from rekindle.judge.measurements import judge_measurements
from rekindle.judge.opener import open_run
from rekindle.records import Norm, Norms, RecordError, write_record
from rekindle.records.layout import spec_in

MADE = "2026-11-28T10:00:00Z"
OTHER = kind(4, "NVIDIA L40S", topology="SYS")
FLEET = [accepted(f"gpu-{n}", OTHER) for n in range(2)]


def own(value=1000.0, **more):
    norm = Norm(name="bf16_matmul", value=value, models=("mine",), source="my own", **more)
    return Norms(gpus={"mine": ("NVIDIA H200",)}, norms=(norm,))


def of(record, name="bf16_matmul"):
    return [figure for figure in evaluate_figures(record).measurements if figure.name == name]


def test_a_model_without_a_norm_gets_those_of_hosts_that_are_right():
    norms = make_norms(FLEET, MADE)
    figures = [figure.value for record in FLEET for figure in of(record)]
    (found,) = [norm for norm in norms.norms if norm.name == "bf16_matmul"]
    assert (found.value, found.margin, found.models) == (min(figures), 0.07, ("NVIDIA L40S",))
    assert (found.count, found.topologies, found.sizes) == (None, (), None)  # a GPU's own speed
    assert found.source.startswith("your norms of 2026-11-28, by gpu-0, gpu-1: ")
    between = [norm for norm in norms.norms if norm.name in {"peer_copy", "host_to_device", "all_reduce"}]
    assert {(norm.count, norm.topologies, norm.nvls) for norm in between} == {(4, ("SYS",), False)}
    assert not [norm for norm in norms.norms if norm.name in {"root_write", "xids", "nvlinks_up"}]


def test_a_host_alone_is_judged_by_them_and_a_slow_gpu_is_named_with_their_source():
    alone = accepted("gpu-9", OTHER)
    assert judge_acceptance(evaluate_figures(alone)).verdict == "UNPROVEN"
    known = replace(alone, norms=make_norms(FLEET, MADE))
    assert judge_acceptance(evaluate_figures(known)).verdict == "PASS"
    slow = evaluate_figures(edited(known, "bf16_matmul", times(0.9)))
    assert judge_acceptance(slow).verdict == "FAIL"
    assert "(your norms of 2026-11-28, by gpu-0, gpu-1: " in of(slow)[0].message


def test_they_come_before_ours_and_ours_stay_for_the_rest():
    record = replace(accepted("gpu-1"), norms=own())
    assert {(figure.norm, figure.source, figure.holds) for figure in of(record)} == {(1000, "my own", False)}
    assert {figure.norm for figure in of(record, "device_copy")} == {4085}
    other = replace(record, norms=own(topologies=("SYS",)))
    assert {figure.norm for figure in of(other)} == {754.3}


def test_without_a_right_host_there_is_nothing_to_make():
    with pytest.raises(RecordError, match="No host of these runs is right"):
        make_norms([], MADE)


def test_a_host_s_own_norms_do_not_count_and_those_that_were_sent_do(recordings, tmp_path):
    run = shutil.copytree(recordings / "acceptance" / "h200-x2", tmp_path / "run")
    lax = json.loads('{"gpus": {"x": ["NVIDIA H200"]}, "norms": [{"name": "bf16_matmul", "value": 1,'
                     ' "models": ["x"], "source": "a host"}]}')  # fmt: skip
    each_event("evidence/acceptance.jsonl", lambda event: event["record"].update(norms=lax))(run)
    assert {figure.norm for figure in of(judge_measurements(open_run(run, spec_in(run))))} == {754.3}
    sent = replace(spec_in(run), norms=own())
    assert {figure.norm for figure in of(judge_measurements(open_run(run, sent)))} == {1000}


def test_a_file_is_read_as_it_was_written(tmp_path):
    write_record(tmp_path / "norms.json", norms := make_norms(FLEET, MADE))
    assert read_norms(tmp_path / "norms.json") == norms


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is not a valid Norms"),
        (
            '{"gpus": {}, "norms": [{"name": "x", "value": 1, "source": "s"}]}',
            "a norm of 'x', and there is no",
        ),
        (
            '{"gpus": {}, "norms": [{"name": "bf16_matmul", "value": 1, "source": "s", "models": ["H"]}]}',
            "a norm of the model 'H', which its gpus do not name",
        ),
        (
            '{"gpus": {}, "norms": [{"name": "bf16_matmul", "value": "fast", "source": "s"}]}',
            "is not a valid",
        ),
        ('{"gpus": {}, "norms": [{"name": "bf16_matmul", "value": 1}]}', "is not a valid"),
        ('{"schema": "rekindle/norms/9", "gpus": {}, "norms": []}', "by another version of Rekindle"),
    ],
)
def test_a_bad_file_is_one_sentence_with_its_fix(tmp_path, text, why):
    (tmp_path / "norms.json").write_text(text)
    with pytest.raises(RecordError, match=why) as error:
        read_norms(tmp_path / "norms.json")
    assert error.value.fix
    assert "\n" not in str(error.value)
