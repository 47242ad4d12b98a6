# SPDX-License-Identifier: Apache-2.0
"""GPUs, driver and links of a host, from the output of nvidia-smi and the kernel module.

nvidia-smi's XML has priority; its CSV adds what the XML lacks (compute capability, index) and replaces it
if there is none. Field names: ``nvidia-smi --help-query-gpu`` and nvsmi_device_v*.dtd of drivers 418 to 580.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from msgspec.structs import replace

from rekindle.gpus.models import find_capability
from rekindle.gpus.obstacles import FIELDS
from rekindle.gpus.xids import Address, find_recent_xids, parse_address
from rekindle.host.instances import list_gpus
from rekindle.records import Driver, Gpu, GpuProcess, convert_builtins

from .frames import Frame, Frames
from .system import parse_digits, read_line

COMMANDS = {
    "nvidia-smi": "nvidia-smi -q -x",
    "nvidia-query": "nvidia-smi --query-gpu",
    "nvidia-topo": "nvidia-smi topo -m",
    "nvidia-nvlink": "nvidia-smi nvlink -s",
}

_XML = {
    "name": "product_name",
    "uuid": "uuid",
    "pci_bus_id": "pci/pci_bus_id",
    "device": "pci/pci_device_id",
    "vbios": "vbios_version",
    "memory_total_mib": "fb_memory_usage/total",
    "memory_used_mib": "fb_memory_usage/used",
    "temperature_c": "temperature/gpu_temp",
    "ecc": "ecc_mode/current_ecc",
    "row_remap_pending": "remapped_rows/remapped_row_pending",
    "row_remap_failure": "remapped_rows/remapped_row_failure",
    "pcie_generation": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "pcie_generation_max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "pcie_width": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "pcie_width_max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "mig": "mig_mode/current_mig",
    "persistence": "persistence_mode",
}
_CSV = {
    "index": "index",
    "name": "name",
    "uuid": "uuid",
    "pci.bus_id": "pci_bus_id",
    "compute_cap": "compute_capability",
    "memory.total [MiB]": "memory_total_mib",
    "memory.used [MiB]": "memory_used_mib",
    "temperature.gpu": "temperature_c",
    "ecc.mode.current": "ecc",
    "ecc.errors.uncorrected.volatile.total": "ecc_uncorrected_volatile",
    "ecc.errors.corrected.volatile.total": "ecc_corrected_volatile",
    "pcie.link.gen.current": "pcie_generation",
    "pcie.link.gen.max": "pcie_generation_max",
    "pcie.link.width.current": "pcie_width",
    "pcie.link.width.max": "pcie_width_max",
    "mig.mode.current": "mig",
    "persistence_mode": "persistence",
}
_ECC = {
    "ecc_uncorrected_volatile": (
        "sram_uncorrectable_parity",
        "sram_uncorrectable_secded",
        "sram_uncorrectable",
        "dram_uncorrectable",
        "double_bit/total",
    ),
    "ecc_corrected_volatile": ("sram_correctable", "dram_correctable", "single_bit/total"),
}
"""Counters to add up: Volta and older have ``_bit`` ones, drivers from 535 split SRAM's in two."""

_TEXTS = ("name", "uuid", "pci_bus_id", "device", "vbios", "compute_capability")
_FLAGS = ("ecc", "row_remap_pending", "row_remap_failure", "mig", "persistence")
_NUMBERS = tuple(field for field in (*_XML, *_ECC) if field not in (*_TEXTS, *_FLAGS))
_YES_NO = {"enabled": True, "yes": True, "disabled": False, "no": False}

_NO_FIGURE = re.compile(r"\[?(N/A|Not Supported|Insufficient Permissions|None)\]?|", re.IGNORECASE)
_LOST = re.compile(r"is lost", re.IGNORECASE)
_BROKEN = re.compile(r"Unknown Error|requires reset|reset required|^ERR!", re.IGNORECASE)
_NO_HANDLE = re.compile(
    r"Unable to determine the device handle for gpu\s*(?:(\d{1,3}):\s*)?"
    r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])\s*:\s*(.+)",
    re.IGNORECASE,
)
_LINK = re.compile(r"Link \d+: (?:([0-9]{1,6}(?:\.[0-9]{1,6})?) GB/s|<?inactive>?)", re.IGNORECASE)

Values = dict[str, str]
State = Literal["ok", "lost", "error"]
Source = Literal["/sys/module/nvidia/version", "/proc/driver/nvidia/version", "nvidia-smi"]


class Nvidia(NamedTuple):
    """A host's facts by its driver."""

    driver: Driver | None
    gpus: tuple[Gpu, ...]
    topology: tuple[tuple[str, ...], ...]


def parse_nvidia(frames: Frames) -> Nvidia:
    """Read all frames; missing and broken facts are left out."""
    log = parse_document(frames["nvidia-smi"].text)
    if log is None:
        log = ElementTree.Element("nvidia_smi_log")
    rows = _rows(frames["nvidia-query"].text)
    gpus = _gpus(log, rows, frames)
    by_csv = (row["driver_version"] for row in rows if "driver_version" in row)
    version = log.findtext("driver_version") or next(by_csv, None)
    loaded = find_driver(frames, version, log.findtext("cuda_version"))
    return Nvidia(loaded, gpus, _topology(frames["nvidia-topo"], len(gpus)))


_MEANINGS = {
    "4": "this user may not ask",
    "8": "a GPU's power cables are not attached",
    "9": "no driver is loaded",
    "10": "the kernel has an interrupt problem with a GPU",
    "12": "NVIDIA's library NVML is not found",
    "14": "the infoROM of a GPU is corrupted",
    "15": "a GPU has fallen off the bus",
}
"""Of exit statuses, by nvidia-smi's manual."""

_WARNINGS = {"14"}
"""Statuses beside a whole answer: CUDA does without the infoROM, which has a card's name and history."""


_BESIDE = re.compile(r"^\W{0,9}WARNING:.{0,200}", re.MULTILINE | re.IGNORECASE)


def is_only_warned(name: str, frame: Frame) -> bool:
    """Whether nvidia-smi gave a whole answer, and a status or a line beside it that warns alone."""
    warned = frame.status in _WARNINGS or (frame.answered and bool(_BESIDE.search(frame.text)))
    return name == "nvidia-smi" and warned and parse_document(frame.text) is not None


def describe_failure(name: str, frame: Frame) -> str:
    """Return how a call of nvidia-smi failed, one sentence: status and what it printed beside an answer."""
    first = "<?xml" if "<?xml" in frame.text else "<nvidia_smi_log>"
    before, opened, rest = frame.text.partition(first)
    beside = before + rest.rpartition("</nvidia_smi_log>")[2] if opened else frame.text
    printed = Frame(frame.status, beside).first_line[:200].rstrip(".")
    if printed == "no output":
        printed = _MEANINGS.get(frame.status, printed)
    if frame.answered and (warning := _BESIDE.search(beside)):
        return f"{COMMANDS[name]} warns: {warning[0].strip().rstrip('.')}."
    return f"{COMMANDS[name]} ended with status {frame.status}: {printed}."


def parse_document(text: str) -> ElementTree.Element | None:
    """Return the XML document in ``text``, without messages around it; None if there is no complete one."""
    _, opened, rest = text.partition("<nvidia_smi_log>")
    inside, closed, _ = rest.rpartition("</nvidia_smi_log>")
    if not closed:
        return None
    try:
        return ElementTree.fromstring(opened + inside + closed)
    except ElementTree.ParseError:
        return None


def _rows(text: str) -> list[Values]:
    """Return the rows of the CSV by our field names; messages around it have another number of cells."""
    header: list[str] = []
    rows = []
    for cells in csv.reader(text.splitlines(), skipinitialspace=True):
        if cells[:1] == ["index"]:
            header = [_CSV.get(cell, cell) for cell in cells]
        elif header and len(cells) == len(header):
            rows.append(dict(zip(header, cells, strict=True)))
    return rows


def _gpus(log: ElementTree.Element, rows: list[Values], frames: Frames) -> tuple[Gpu, ...]:
    links = _nvlinks(frames["nvidia-nvlink"].text)
    by_bus = {_bus(row.get("pci_bus_id", "")) or f"#{i}": row for i, row in enumerate(rows)}
    gpus: dict[str, Gpu] = {}
    used = set()
    listing = frames["nvidia-list"].text if "nvidia-list" in frames else ""
    for position, element in list_gpus(log, listing):
        bus = _bus(element.get("id", "")) or f"#{position}"
        used.add(key := bus if bus in by_bus else f"#{position}")
        gpu = _gpu({**by_bus.get(key, {}), **dict(_values(element))}, position, links, element)
        gpus[bus if bus not in gpus else f"{bus} {gpu.uuid}"] = gpu
    for bus, row in by_bus.items():
        if bus not in used:
            gpus[bus] = _gpu(row, len(gpus), links, ElementTree.Element("gpu"))
    messages = "\n".join(frames[name].text for name in COMMANDS)
    taken = {gpu.index for gpu in gpus.values()}
    last = max(taken, default=-1)
    for number, address, message in _NO_HANDLE.findall(messages):
        state: State = "lost" if _LOST.search(message) else "error"
        words = " ".join(message.split()).rstrip(".")
        index = int(number) if number and int(number) not in taken else last + 1
        new = Gpu(index=index, state=state, message=words, pci_bus_id=_bus(address))
        last = max(last, gpus.setdefault(_bus(address), new).index)
        taken.add(index)
    xids = find_recent_xids(frames["xids"].text) if "xids" in frames else {}
    found = (replace(gpu, xids=_codes(xids, gpu)) for gpu in gpus.values())
    return tuple(sorted(found, key=lambda gpu: gpu.index))


def _codes(xids: dict[Address, list[int]], gpu: Gpu) -> tuple[int, ...]:
    return tuple(xids.get(parse_address(gpu.pci_bus_id), ())) if gpu.pci_bus_id else ()


def _bus(address: str) -> str:
    """Return a PCI address with the eight digits of domain that nvidia-smi prints; empty if it is not one."""
    match = re.fullmatch(r"([0-9A-F]{4,8})(:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F])", address.strip().upper())
    return f"{match[1]:0>8}{match[2]}" if match else ""


def _values(element: ElementTree.Element) -> Iterator[tuple[str, str]]:
    for field, path in _XML.items():
        text = (element.findtext(path) or "").strip()
        if text and not _NO_FIGURE.fullmatch(text):
            yield field, text
    for field, counters in _ECC.items():
        texts = [element.findtext(f"ecc_errors/volatile/{counter}") or "" for counter in counters]
        broken = [text for text in texts if _complaint(text)]
        numbers = [number for text in texts if (number := _integer(text)) is not None]
        if broken or numbers:
            yield field, broken[0] if broken else str(sum(numbers))


def _gpu(
    values: Values, position: int, links: Mapping[str, tuple[float, ...]], element: ElementTree.Element
) -> Gpu:
    complaints = [f"{field} reads {text}" for field, text in values.items() if _complaint(text)]
    action = element.findtext("gpu_recovery_action") or "None"
    if not _NO_FIGURE.fullmatch(action):
        complaints.append(f"gpu_recovery_action is {action}")
    state = ("lost" if any(_LOST.search(text) for text in complaints) else "error") if complaints else "ok"
    index = _integer(values.get("index"))
    uuid, name = _figure(values.get("uuid")), _figure(values.get("name"))
    match = re.match(r"(?:0x)?([0-9A-F]{4})10DE\Z", values.get("device", "").upper())
    device = match[1] if match else None
    return convert_builtins(
        {
            "index": position if index is None else index,
            "state": state,
            "message": complaints[0] if complaints else None,
            "throttle_reasons": _throttle_reasons(element),
            "nvlink_gb_per_s": links.get(uuid or "", ()),
            "states": _states(element),
            "processes": _processes(element),
            **{field: _figure(values.get(field)) for field in _TEXTS},
            **{field: _YES_NO.get(values.get(field, "").lower()) for field in _FLAGS},
            **{field: _integer(values.get(field)) for field in _NUMBERS},
            "pci_bus_id": _bus(values.get("pci_bus_id", "")) or None,
            "device": device,
            "compute_capability": find_capability(name, values.get("compute_capability"), device),
        },
        Gpu,
    )


def _states(element: ElementTree.Element) -> dict[str, str]:
    texts = {field: " ".join((element.findtext(field) or "").split())[:200] for field in FIELDS}
    return {field: text for field, text in texts.items() if not _NO_FIGURE.fullmatch(text)}


def _complaint(text: str) -> bool:
    return bool(_LOST.search(text) or _BROKEN.search(text))


def _figure(text: str | None) -> str | None:
    """Return ``text`` unless it stands for a missing figure."""
    return None if text is None or _NO_FIGURE.fullmatch(text.strip()) or _complaint(text) else text.strip()


def _integer(text: str | None) -> int | None:
    """Return the number that ``text`` begins with: ``143771 MiB``, ``16x``."""
    match = re.match(r"\s*([0-9]{1,15})(?![0-9])", text or "")
    return int(match[1]) if match else None


def _throttle_reasons(element: ElementTree.Element) -> tuple[str, ...]:
    """Return the active reasons; drivers before 535 have ``throttle`` in names instead of ``event``."""
    reasons = []
    for kind in ("event", "throttle"):
        for reason in element.iterfind(f"clocks_{kind}_reasons/*"):
            if reason.text == "Active":
                reasons.append(reason.tag.removeprefix(f"clocks_{kind}_reason_"))
    return tuple(reason for reason in dict.fromkeys(reasons) if reason != "gpu_idle")


def _processes(element: ElementTree.Element) -> tuple[GpuProcess, ...]:
    return tuple(
        GpuProcess(
            pid=_integer(info.findtext("pid")) or 0,
            name=info.findtext("process_name") or "unnamed",
            memory_mib=_integer(info.findtext("used_memory")),
        )
        for info in element.iterfind("processes/process_info")
    )


def _nvlinks(text: str) -> dict[str, tuple[float, ...]]:
    """Return GB/s of each link by UUID of the GPU, from ``nvidia-smi nvlink -s``."""
    links: dict[str, list[float]] = {}
    speeds: list[float] = []
    for text_line in text.splitlines():
        if match := re.search(r"^GPU \d+:.{1,200}?UUID: ([^)]{1,100})\)", text_line):
            speeds = links.setdefault(match[1], [])
        elif match := _LINK.search(text_line):
            speeds.append(float(match[1] or 0))
    return {uuid: tuple(speeds) for uuid, speeds in links.items()}


def _topology(frame: Frame, gpus: int) -> tuple[tuple[str, ...], ...]:
    """Return the GPUs' part of ``nvidia-smi topo -m``; empty unless it shows as many GPUs as there are.

    nvidia-smi underlines the header with terminal escapes even into a file; NICs follow the GPUs.
    """
    plain = re.sub(r"\x1b\[[\d;]*m", "", frame.text)
    table = [row.split()[1 : gpus + 1] for row in plain.splitlines() if re.match(r"GPU\d+\s", row)]
    square = len(table) == gpus and all(len(row) == gpus and row[i] == "X" for i, row in enumerate(table))
    return tuple(tuple(row) for row in table) if square else ()


_MODULE = re.compile(r"Kernel Module\D{0,40}?\s(?:for \S{1,40}\s{1,8})?(\d{1,9}\.[\d.]{1,40})")


def find_driver(frames: Frames, smi_version: str | None, cuda: str | None) -> Driver | None:
    """Return the loaded driver, by the first source that knows it; None if there is none.

    Args:
        frames: of the collector.
        smi_version: version from nvidia-smi.
        cuda: newest CUDA from nvidia-smi.
    """
    proc = frames["driver-proc"].text
    module = _MODULE.search(proc)
    open_module = "Open Kernel Module" in proc if module else None
    sources: tuple[tuple[str | None, Source, bool | None], ...] = (
        (read_line(frames, "driver-sys"), "/sys/module/nvidia/version", open_module),
        (module and module[1], "/proc/driver/nvidia/version", open_module),
        (smi_version, "nvidia-smi", None),
    )
    for text, source, is_open in sources:
        if version := parse_digits(text):
            return Driver(version=version, source=source, cuda=parse_digits(cuda), open_module=is_open)
    return None
