# SPDX-License-Identifier: Apache-2.0
"""MIG instances in what nvidia-smi prints: each is a GPU of its own."""

from xml.etree import ElementTree

import pytest
from samples.mig_hosts import cut_gpus, list_instances, name_instance

from rekindle.host.instances import is_instance, list_gpus


@pytest.fixture
def xml(recordings):
    return (recordings / "h200-x2-nvidia-smi-q.xml").read_text()


def listed(xml, listing):
    return [(index, part.findtext("uuid")) for index, part in list_gpus(ElementTree.fromstring(xml), listing)]


def test_instances_stand_in_the_place_of_their_gpu(xml):
    cut = cut_gpus(xml)
    whole = ElementTree.fromstring(xml).findall("gpu")[1].findtext("uuid")
    own = [name_instance(0, 0), name_instance(0, 1)]
    assert listed(cut, list_instances(cut)) == [(0, own[0]), (0, own[1]), (1, whole)]


@pytest.mark.parametrize(
    "listing",
    [
        "",
        "No devices found.\n",
        "  MIG 1g.18gb     Device  0: (UUID: MIG-1)\n",
        "GPU 0: x (UUID: GPU-0)\n" * 3,
    ],
)
def test_a_gpu_whose_instances_are_not_listed_stays_whole(xml, listing):
    assert [index for index, _ in listed(cut_gpus(xml), listing)] == [0, 1]
    assert not any(is_instance(uuid) for _, uuid in listed(cut_gpus(xml), listing))


def test_a_host_that_lists_a_thousand_has_as_many_as_a_gpu_can(xml):
    cut = cut_gpus(xml)
    first, *rest = list_instances(cut).splitlines(keepends=True)
    assert len(listed(cut, first + rest[0] * 1000)) == 8
