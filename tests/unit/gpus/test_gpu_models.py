# SPDX-License-Identifier: Apache-2.0
"""What is known of a GPU by its name and by its PCI device id."""

import pytest

from rekindle.gpus.models import (
    _devices,
    find_capability,
    find_device_name,
    find_first_driver,
    find_model,
    find_model_capability,
    parse_version,
)
from rekindle.gpus.visibility import OLDEST_DRIVER
from rekindle.solver.catalogue import list_builds, load_rules

NAMES = {
    "3.7": ["Tesla K80"],
    "5.2": ["Tesla M60"],
    "6.0": ["Tesla P100-PCIE-16GB"],
    "6.1": ["GeForce GTX 1080 Ti"],
    "7.0": ["Tesla V100-SXM2-32GB", "GRID V100D-8Q"],
    "7.5": ["Tesla T4", "Quadro RTX 6000", "GeForce RTX 2080 Ti"],
    "8.0": ["A100-SXM4-40GB", "NVIDIA A30"],
    "8.6": ["NVIDIA A10G", "NVIDIA RTX A6000", "NVIDIA GeForce RTX 3090"],
    "8.9": ["NVIDIA L40S", "NVIDIA RTX 6000 Ada Generation"],
    "9.0": ["NVIDIA GH200 480GB", "NVIDIA H100 80GB HBM3"],
    "10.0": ["NVIDIA B200"],
    "10.3": ["NVIDIA B300 SXM6 AC"],
    "12.0": ["NVIDIA GeForce RTX 5090", "NVIDIA RTX PRO 6000 Blackwell Server Edition"],
    "12.1": ["NVIDIA GB10"],
    None: ["Graphics Device", "", None],
}


def test_a_name_has_the_capability():
    for known, names in NAMES.items():
        assert [find_model_capability(name) for name in names] == [known] * len(names)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ("9.0", "9.0"),
        ("9.0a", "9.0"),
        (" 12.1 ", "12.1"),
        *((none, "8.0") for none in ("[N/A]", "", None, "²")),
    ],
)
def test_the_drivers_figure_comes_first_if_it_is_a_capability(reported, expected):
    assert find_capability("NVIDIA A100 80GB PCIe", reported, None) == expected


def test_an_unknown_name_is_known_by_its_device_id():
    assert find_capability("Graphics Device", None, "2335") == "9.0"
    assert find_capability("Graphics Device", "9" * 5000, "FFFF") is None


def test_every_device_of_the_table_has_a_model_and_every_driver_of_it_a_device():
    table = _devices()
    assert all(find_model(name) for name in table.devices.values())
    assert {device for ids in table.drivers.values() for device in ids} <= set(table.devices)
    assert list(table.drivers) == sorted(table.drivers, key=parse_version)


def test_devices_by_id():
    assert (find_device_name("2335"), find_first_driver("2335")) == ("NVIDIA H200", "550.90.07")
    assert (find_device_name("2b85"), find_first_driver("2b85")) == ("NVIDIA GeForce RTX 5090", "570.86.16")
    assert (find_device_name("1DB4"), find_first_driver("1DB4")) == ("Tesla V100 PCIe 16GB", None)
    assert (find_device_name("FFFF"), find_first_driver("FFFF"), find_device_name(None)) == (None, None, None)


def test_the_oldest_driver_is_the_catalogues():
    majors = {build.cuda.split(".")[0] for build in list_builds("torch") if build.cuda}
    oldest = min((load_rules().cuda_minimum_driver.by[major] for major in majors), key=parse_version)
    assert oldest == OLDEST_DRIVER
