# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi reports of the GPUs, before and after."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from typing import Any, NamedTuple
from xml.etree import ElementTree

import nvlink

from rekindle.host.instances import is_instance, list_gpus

_LIMIT_S = 30
_FIX = "Fix: restart the host."
_LINKS = ("SYS", "NODE", "PHB", "PXB", "PIX")
"""Worst first; any NVLink is better."""


def number_of(word: str) -> float | None:
    """Return a word as a number; None if it is not a finite number."""
    try:
        number = float(word)
    except ValueError:
        return None
    return number if isfinite(number) else None


class Gpu(NamedTuple):
    """One GPU as ``nvidia-smi -q -x`` has it."""

    index: int
    uuid: str
    serial: str | None
    name: str
    bus: str
    element: ElementTree.Element

    def text(self, path: str) -> str | None:
        """Return the text at ``path``; None if it is not there or not known."""
        text = (self.element.findtext(path) or "").strip()
        return text if text and not text.startswith(("N/A", "[", "Requested")) else None

    def number(self, path: str) -> float | None:
        """Return the number at ``path``, in any unit."""
        return number_of((self.text(path) or "").split(" ")[0].rstrip("x%"))


class Report(NamedTuple):
    """All of them, by UUID."""

    driver: str
    gpus: dict[str, Gpu]
    lanes: nvlink.Lanes
    errors: nvlink.Errors


def read(uuids: list[str]) -> Report:
    """Ask nvidia-smi; ends the program with a sentence if it has no answer, or lacks one of these GPUs."""
    with ThreadPoolExecutor() as pool:
        report = parse(*pool.map(_output_of, (("-q", "-x"), ("nvlink", "-s"), ("nvlink", "-e"), ("-L",))))
    if missing := [uuid for uuid in uuids if uuid not in report.gpus]:
        sys.exit(f"nvidia-smi does not show {', '.join(missing)}: it was lost. {_FIX}")
    return report


def parse(report: str, lanes: str, errors: str, listing: str = "") -> Report:
    """Return what ``nvidia-smi -q -x``, ``nvlink -s``, ``nvlink -e`` and ``-L`` printed."""
    try:
        root = ElementTree.fromstring(report)
    except ElementTree.ParseError:
        printed = " ".join(report.split())[:200]
        sys.exit(f"nvidia-smi -q -x gave no complete XML document but: {printed or 'nothing'}. {_FIX}")
    gpus = [
        Gpu(
            index=index,
            uuid=element.findtext("uuid") or "",
            serial=None if (element.findtext("serial") or "N/A") == "N/A" else element.findtext("serial"),
            name=element.findtext("product_name") or "",
            bus=element.get("id") or "",
            element=element,
        )
        for index, element in list_gpus(root, listing)
    ]
    driver = root.findtext("driver_version") or ""
    return Report(driver, {gpu.uuid: gpu for gpu in gpus}, nvlink.lanes(lanes), nvlink.errors(errors))


def worst_link(indexes: list[int]) -> str:
    """Return the worst link between two of these GPUs, as ``nvidia-smi topo -m`` names it."""
    return worst_of(_output_of(("topo", "-m")), indexes)


def worst_of(matrix: str, indexes: list[int]) -> str:
    """Return the worst link between two of these GPUs in what ``nvidia-smi topo -m`` printed."""
    if len(indexes) < 2:
        return "alone"
    rows = [line.replace("\x1b[4m", "").replace("\x1b[0m", "").split() for line in matrix.splitlines()]
    links = {int(row[0][3:]): row[1:] for row in rows if row and row[0][:3] == "GPU" and row[0][3:].isdigit()}
    pairs = [(links.get(first, []), second) for first in indexes for second in indexes if first != second]
    words = [row[second] for row, second in pairs if second < len(row)]

    def quality(word: str) -> int:
        return _LINKS.index(word) if word in _LINKS else int(word[2:]) + len(_LINKS)

    known = (word for word in words if word in _LINKS or re.fullmatch(r"NV[0-9]{1,4}", word))
    return min(known, key=quality, default="unknown")


def _output_of(words: tuple[str, ...]) -> str:
    """Return what nvidia-smi prints; it hangs on a GPU that is lost."""
    try:
        done = subprocess.run(
            ["nvidia-smi", *words], capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"nvidia-smi {' '.join(words)} did not end within {_LIMIT_S} s: a GPU may be lost. {_FIX}")
    return done.stdout


def measurements(before: Report, after: Report, uuids: list[str]) -> list[dict[str, Any]]:
    """Return the figures of each GPU by nvidia-smi."""
    figures = []
    for uuid in uuids:
        first, last = before.gpus[uuid], after.gpus[uuid]
        held = [process["memory_mib"] or 0.0 for process in use(first)["processes"]]
        used = sum(held) if is_instance(uuid) else first.number("fb_memory_usage/used")
        figures += [
            _figure("memory_in_use_before", uuid, used, "MiB"),
            _figure("utilisation_before", uuid, first.number("utilization/gpu_util"), "%"),
            _reached("pcie_width", last, "link_widths/{}_link_width", ("max",)),
            *_errors(last),
            *nvlink.up(after.lanes, uuid, several=len(uuids) > 1),
        ]
        if after.lanes.get(uuid):
            figures.append(nvlink.counted(before.errors, after.errors, uuid))
        if fabric := last.text("fabric/state"):
            up = float(fabric == "Completed" and last.text("fabric/status") in {"Success", None})
            figures.append(_figure("fabric_manager", uuid, up, "up", f"its state is {fabric}"))
    return figures


def use(gpu: Gpu) -> dict[str, Any]:
    """Return the use of a GPU at this moment, and its processes."""
    received, sent = (gpu.number(f"pci/{way}_util") for way in ("rx", "tx"))
    return {
        "gpu": gpu.uuid,
        "utilisation": gpu.number("utilization/gpu_util"),
        "pcie_received_mb_s": None if received is None else received / 1e3,
        "pcie_sent_mb_s": None if sent is None else sent / 1e3,
        "processes": [
            {"pid": int(pid), "name": name, "memory_mib": None if memory is None else int(memory)}
            for process in gpu.element.findall("processes/process_info")
            if (pid := number_of(process.findtext("pid") or "")) is not None
            for name in [process.findtext("process_name") or "?"]
            for memory in [number_of((process.findtext("used_memory") or "").split(" ")[0])]
        ],
    }


def _figure(name: str, uuid: str, value: float | None, unit: str, message: str = "") -> dict[str, Any]:
    sentence = message or ("by nvidia-smi" if value is not None else "nvidia-smi does not report it")
    return {"name": name, "gpu": uuid, "value": value, "unit": unit, "message": sentence}


def _reached(
    name: str, gpu: Gpu, path: str, ends: tuple[str, ...], seen: float | None = None
) -> dict[str, Any]:
    """Return the most that a PCIe link reached, now or as it was ``seen``; its norm is what both ends can."""
    limits = [gpu.number(f"pci/pci_gpu_link_info/{path.format(end)}") for end in ends]
    norm = min((limit for limit in limits if limit is not None), default=None)
    reached = (gpu.number(f"pci/pci_gpu_link_info/{path.format('current')}"), seen)
    value = max((number for number in reached if number is not None), default=None)
    figure = _figure(name, gpu.uuid, value, "")
    if norm is not None:
        figure |= {"norm": norm, "source": "nvidia-smi -q: what both ends of the link can"}
    return figure


def pcie_generation(gpu: Gpu, seen: float | None) -> dict[str, Any]:
    """Return the generation of the PCIe link: the most ``seen`` under load, as an idle link rests."""
    ends = ("max_device", "max_host", "max")
    return _reached("pcie_generation", gpu, "pcie_gen/{}_link_gen", ends, seen)


def _errors(gpu: Gpu) -> list[dict[str, Any]]:
    now = "ecc_errors/volatile"
    uncorrected = [
        gpu.number(f"{now}/{kind}")
        for kind in (
            "sram_uncorrectable_parity",
            "sram_uncorrectable_secded",
            "sram_uncorrectable",
            "dram_uncorrectable",
        )
    ]
    known = [count for count in uncorrected if count is not None]
    figures = [_figure("ecc_uncorrected", gpu.uuid, sum(known) if known else None, "errors")]
    for memory in ("dram", "sram"):
        figures.append(
            _figure(f"ecc_corrected_{memory}", gpu.uuid, gpu.number(f"{now}/{memory}_correctable"), "errors")
        )
    for what, name in (("pending", "remap_pending"), ("failure", "remap_failed")):
        text = gpu.text(f"remapped_rows/remapped_row_{what}")
        figures.append(_figure(name, gpu.uuid, None if text is None else float(text == "Yes"), "yes"))
    return figures
