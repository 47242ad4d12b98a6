# SPDX-License-Identifier: Apache-2.0
"""A host of which only some GPUs are used."""

import pytest
from msgspec.structs import replace
from samples.hosts import A100, H200, host

from rekindle.gpus.choice import choose_gpus
from rekindle.gpus.visibility import explain_hidden, list_visible_gpus
from rekindle.records import Complaint, Gpu, PciGpu

LINKS = (
    ("X", "NV18", "SYS", "SYS"),
    ("NV18", "X", "SYS", "SYS"),
    ("SYS", "SYS", "X", "NV4"),
    ("SYS", "SYS", "NV4", "X"),
)


@pytest.fixture
def four():
    """Return a host with two H200s and two A100s."""
    on = host(H200, H200, A100, A100)
    gpus = [
        replace(gpu, uuid=f"GPU-{gpu.index}", pci_bus_id=f"00000000:0{gpu.index}:00.0") for gpu in on.gpus
    ]
    bus = [PciGpu(address=f"0000:0{gpu.index}:00.0", device="2335", kernel_driver=None) for gpu in gpus]
    return replace(on, gpus=tuple(gpus), pci_devices=tuple(bus), topology=LINKS)


@pytest.mark.parametrize("asked", [["2", "0"], ["GPU-0", "GPU-2"], ["0", "GPU-2", "2"]])
def test_only_these_gpus_are_the_hosts(four, asked):
    chosen = choose_gpus(four, asked)
    assert [gpu.index for gpu in chosen.gpus] == [0, 2]
    assert chosen.topology == (("X", "SYS"), ("SYS", "X"))
    assert [of.address for of in chosen.pci_devices] == ["0000:00:00.0", "0000:02:00.0"]
    assert explain_hidden(chosen) is None


def test_a_gpu_that_the_driver_does_not_show_is_missed_where_nobody_leaves_it_out(four):
    fewer = replace(four, gpus=four.gpus[:3])
    found = explain_hidden(fewer)
    assert "0000:03:00.0 is missing" in found.message
    assert found.fix.endswith("or leave it out (rekindle_gpus: [0, 1, 2]).")
    assert explain_hidden(choose_gpus(fewer, ["0"])) is None


def test_a_display_card_beside_gpus_is_none_that_is_missing(four):
    card = PciGpu(address="0000:09:00.0", device="128B", kernel_driver="nouveau")
    beside = replace(four, pci_gpus=len(four.gpus) + 1, pci_devices=(*four.pci_devices, card))
    assert explain_hidden(beside) is None
    card = replace(card, kernel_driver=None)
    assert explain_hidden(replace(beside, pci_devices=(*four.pci_devices, card)))


def test_one_that_is_not_there_is_refused(four):
    with pytest.raises(Complaint, match=r"asks for GPU 4, and lease has 0 \(GPU-0\), 1 \(GPU-1\)"):
        choose_gpus(four, ["0", "4"])


def test_without_a_choice_or_a_gpu_a_host_is_as_it_is(four):
    assert choose_gpus(four, []) is four
    bare = host()
    assert choose_gpus(bare, ["0"]) is bare


@pytest.mark.parametrize(
    ("uuids", "visible"),
    [(["GPU-a", "GPU-b"], ["GPU-a", "GPU-b"]), (["GPU-a", "MIG-b", "MIG-c"], ["MIG-b"]), ([], [])],
)
def test_a_process_sees_one_instance_or_all_gpus(uuids, visible):
    gpus = tuple(Gpu(index=number, state="ok", uuid=uuid) for number, uuid in enumerate(uuids))
    assert list_visible_gpus(replace(host(), gpus=gpus)) == visible
