# SPDX-License-Identifier: Apache-2.0
"""MIG instances of GPUs, as GPUs of their own: each has a name, a UUID, memory and processes."""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement

PREFIX = "MIG-"
"""Of an instance's UUID."""
_GPU = re.compile(r"GPU \d{1,4}: .{1,200}?\(UUID: (GPU-[^)\s]{1,100})\)")
_INSTANCE = re.compile(r"\s{1,8}MIG (\S{1,40})\s{1,40}Device\s{1,8}(\d{1,4}): \(UUID: (MIG-[^)\s]{1,100})\)")
_MOST = 7
"""Instances of a GPU."""
_OWN = ("product_name", "uuid", "mig_mode", "mig_devices", "fb_memory_usage", "utilization", "processes")


def list_gpus(log: Element, listing: str) -> Iterator[tuple[int, Element]]:
    """Yield each GPU's index and element; in place of a GPU that is cut into instances, theirs.

    Args:
        log: what ``nvidia-smi -q -x`` printed, which has no UUID of an instance.
        listing: what ``nvidia-smi -L`` printed.
    """
    known: dict[str, list[re.Match[str]]] = {}
    own: list[re.Match[str]] = []
    for line in listing.splitlines():
        if whole := _GPU.match(line):
            own = known.setdefault(whole[1], [])
        elif (instance := _INSTANCE.match(line)) and len(own) < _MOST:
            own.append(instance)
    for index, gpu in enumerate(log.findall("gpu")):
        devices = {device.findtext("index"): device for device in gpu.iterfind("mig_devices/mig_device")}
        listed = known.get(gpu.findtext("uuid") or "", ())
        parts = [_cut(gpu, devices[found[2]], found[1], found[3]) for found in listed if found[2] in devices]
        yield from ((index, part) for part in parts or [gpu])


def _cut(gpu: Element, device: Element, profile: str, uuid: str) -> Element:
    part = Element("gpu", gpu.attrib)
    part.extend(child for child in gpu if child.tag not in _OWN)
    SubElement(part, "product_name").text = f"{gpu.findtext('product_name') or ''} MIG {profile}"
    SubElement(part, "uuid").text = uuid
    SubElement(SubElement(part, "mig_mode"), "current_mig").text = "Disabled"
    part.extend(device.findall("fb_memory_usage"))
    ids = [device.findtext(name) for name in ("gpu_instance_id", "compute_instance_id")]
    SubElement(part, "processes").extend(
        process
        for process in gpu.iterfind("processes/process_info")
        if [process.findtext(name) for name in ("gpu_instance_id", "compute_instance_id")] == ids
    )
    return part


def is_instance(uuid: str | None) -> bool:
    """Whether a GPU of this UUID is a MIG instance: NCCL joins no two of them."""
    return (uuid or "").startswith(PREFIX)


def name_place(index: int, uuid: str) -> str:
    """Return what a GPU or instance is called where its host is known: ``GPU 3``, ``GPU 3 MIG-1f0d3b9a``."""
    return f"GPU {index} {uuid[:12]}" if is_instance(uuid) else f"GPU {index}"
