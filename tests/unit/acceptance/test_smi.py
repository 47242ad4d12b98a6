# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi prints, where it is odd."""

from importlib import import_module

import pytest


@pytest.fixture
def smi(job_code):
    return import_module("smi")


@pytest.fixture
def meanwhile(job_code):
    return import_module("meanwhile")


@pytest.mark.parametrize("figure", ["N/A", "[N/A]", "Unknown Error", "", "nan", "inf MiB", "1e999 MiB", "²"])
def test_what_is_no_number_is_none(smi, recordings, figure):
    text = (recordings / "h200-x2-nvidia-smi-q.xml").read_text()
    odd = text.replace("<used>0 MiB</used>", f"<used>{figure}</used>")
    assert odd != text
    report = smi.parse(odd, "", "")
    figures = {figure["name"]: figure["value"] for figure in smi.measurements(report, report, [*report.gpus])}
    assert figures["memory_in_use_before"] is None
    assert figures["pcie_width"] == 16


def test_who_uses_a_gpu_is_read_with_its_memory_and_the_bus(smi, recordings):
    text = (recordings / "h200-x2-nvidia-smi-q.xml").read_text()
    process = "<process_info><pid>{}</pid><type>C</type><process_name>{}</process_name>{}</process_info>"
    of_others = process.format(7, "/opt/copy", "<used_memory>883 MiB</used_memory>")
    of_others += process.format(8, "x", "<used_memory>N/A</used_memory>") + process.format("N/A", "y", "")
    busy = text.replace("<processes>", f"<processes>{of_others}", 1)
    busy = busy.replace("<rx_util>548 KB/s</rx_util>", "<rx_util>12345678 KB/s</rx_util>", 1)
    first, second = (smi.use(gpu) for gpu in smi.parse(busy, "", "").gpus.values())
    rates = (first["pcie_received_mb_s"], first["pcie_sent_mb_s"], first["utilisation"])
    assert rates == (12345.678, 1.045, 0)
    assert first["processes"] == [
        {"pid": 7, "name": "/opt/copy", "memory_mib": 883},
        {"pid": 8, "name": "x", "memory_mib": None},
    ]
    assert second["processes"] == []


@pytest.mark.parametrize(
    ("word", "worst"), [("NV18", "NV18"), ("NV4", "NV4"), ("SYS", "SYS"), ("NV", "unknown"), ("?", "unknown")]
)
def test_the_worst_link_is_one_that_is_known(smi, recordings, word, worst):
    text = (recordings / "h200-x2-topo-m.txt").read_text().replace("NV18", word)
    assert smi.worst_of(text, [0, 1]) == worst


@pytest.mark.parametrize("text", ["", "GPU0", "GPU0 X\nGPU1", "Unable to determine the topology."])
def test_a_topology_that_breaks_off_is_unknown(smi, text):
    assert smi.worst_of(text, [0, 1]) == "unknown"


@pytest.mark.parametrize("reasons", ["0xZZ", "Active", "[N/A]", "-0x4", "0x" + "f" * 5000])
def test_reasons_that_are_no_mask_are_none(meanwhile, reasons):
    line = f"2026/11/22 20:00:00.000, GPU-0, [N/A], nan, inf, x, {reasons}"
    (condition,) = meanwhile.parse(line, ["GPU-0"])
    assert condition["throttle"] == []
    assert {condition[name] for name in ("sm_clock_mhz", "power_w", "temperature_c")} == {None}
