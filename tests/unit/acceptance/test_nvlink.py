# SPDX-License-Identifier: Apache-2.0
"""nvidia-smi's output on NVLink, in the formats of its releases."""

from importlib import import_module

import pytest

HEADER = "GPU {0}: NVIDIA H100 80GB HBM3 (UUID: GPU-{0})\n"
HOPPER = "\t Link {0}: Replay Errors: {1}\n\t Link {0}: Recovery Errors: 0\n\t Link {0}: CRC Errors: 0\n\n"
BLACKWELL = "".join(
    f"\t Link {{0}}: {line}\n"
    for line in (
        "Malformed packet Errors: 0",
        "Rx Errors: {1}",
        "Link recovery successful events: 0",
        "Link recovery failed events: 0",
        "Total link recovery events: {1}",
        "Effective Errors: 0",
        "Effective BER: 15e-255",
        "FEC Errors - 0: 36140749276",
        "FEC Errors - 1: 12",
        "Raw Errors Lane 0: 82",
        "Raw BER Lane 0: 2061",
    )
)
PER_LANE = "\t Link {0}: CRC Errors Lane 0: N/A\n\t Link {0}: Replay Errors: N/A\n"


@pytest.fixture
def nvlink(job_code):
    return import_module("nvlink")


def printed(of_link, *counts, gpu=0):
    return HEADER.format(gpu) + "".join(of_link.format(link, count) for link, count in enumerate(counts))


def counted(nvlink, before, after):
    return nvlink.counted(nvlink.errors(before), nvlink.errors(after), "GPU-0")


@pytest.mark.parametrize("of_link", [HOPPER, BLACKWELL])
def test_errors_that_come_meanwhile_count_and_are_named(nvlink, of_link):
    figure = counted(nvlink, printed(of_link, 0, 2, 7), printed(of_link, 0, 5, 7))
    assert figure["value"] == 3
    name = "Replay Errors" if of_link is HOPPER else "Rx Errors"
    assert figure["message"] == f"3 came meanwhile on 3 links, 9 stood before, link 1: 3 {name}"


def test_a_counter_that_was_reset_or_is_full_counts_as_it_stands(nvlink):
    assert counted(nvlink, printed(HOPPER, 9), printed(HOPPER, 2))["value"] == 2
    assert counted(nvlink, printed(HOPPER, 65535), printed(HOPPER, 65535))["value"] == 65535


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEADER.format(0),
        printed(PER_LANE, 0),
        HEADER.format(0) + "\t NVML: Unable to retrieve NVLink information as all links are inActive\n",
        "GPU 0: NVIDIA GB300\n\t Link 0: CRC Errors: 0\n",
        HEADER.format(0) + "\t Link 0: Replay Errors: 0, Recovery Errors: 0, CRC Errors: 0\n",
        HEADER.format(0) + "\t Link 0: Wrong turns: 3\n",
        HEADER.format(0) + f"\t Link 0: CRC Errors: {'9' * 5000}\n",
    ],
)
def test_counters_in_a_format_that_is_not_known_are_not_none(nvlink, text):
    for before, after in ((text, text), (printed(HOPPER, 0), text), (text, printed(HOPPER, 0))):
        figure = counted(nvlink, before, after)
        assert figure["value"] is None
        assert "no error counter of it that is known" in figure["message"]


def test_a_gpu_whose_links_are_all_down_has_no_lane_up_where_there_are_others(nvlink):
    down = "\t NVML: Unable to retrieve Nvlink information as all links are inActive\n"
    lanes = nvlink.lanes(printed("\t Link {0}: 26.562 GB/s\n", 0, 0) + HEADER.format(1) + down)
    assert [figure["value"] for figure in nvlink.up(lanes, "GPU-0", several=True)] == [2]
    assert [figure["value"] for figure in nvlink.up(lanes, "GPU-1", several=True)] == [0]
    assert nvlink.up(lanes, "GPU-1", several=False) == []
    assert nvlink.up(nvlink.lanes(HEADER.format(1)), "GPU-1", several=True) == []
    inactive = nvlink.lanes(HEADER.format(1) + "\t Link 0: <inactive>\n\t Link 1: <inactive>\n")
    assert [figure["value"] for figure in nvlink.up(inactive, "GPU-1", several=True)] == [0]
    assert nvlink.up(inactive, "GPU-1", several=False) == []


def test_a_lane_that_is_down_is_one_of_those_it_has(nvlink):
    lanes = nvlink.lanes(HEADER.format(0) + "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n")
    (figure,) = nvlink.up(lanes, "GPU-0", several=True)
    assert (figure["value"], figure["norm"]) == (1, 2)


def test_two_h200s_have_three_counters_of_every_link(nvlink, recordings):
    found = nvlink.errors((recordings / "h200-x2/nvlink-e.txt").read_text())
    assert [(len(each), any(each.values())) for each in found.values()] == [(3 * 18, False)] * 2
