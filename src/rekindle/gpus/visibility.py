# SPDX-License-Identifier: Apache-2.0
"""Which GPUs of a host jobs can use, and which its driver does not show, with the remedy."""

import re
from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from rekindle.host.instances import is_instance
from rekindle.records import Complaint, Driver, FailedProbe, Gpu, HostRecord, PciGpu
from rekindle.records.action import Action
from rekindle.records.complaint import ANOTHER
from rekindle.records.text import fold_line

from .models import find_device_name, find_first_driver, find_model, find_model_capability, parse_version

OLDEST_DRIVER = "525.60.13"
"""For a build of the catalogue; tests compare it with the catalogue."""

_NO_TOOL = "nvidia-smi is not on this host."
_CONTAINER = (
    "give the container its GPUs (docker run --gpus all, with the NVIDIA container toolkit) and run "
    "preflight again, or use another host"
)
_MODULE = {True: " with its open kernel module", False: " with its proprietary kernel module", None: ""}
_OTHER_MODULE = ({True, False}, {True, None})
"""Module that a model needs and loaded module, where they differ; an unknown one may be either."""
_ANOTHER = "or use another host"
_NOUVEAU = "nouveau"
_BY_WORDS: tuple[tuple[str, str, Action], ...] = (
    (
        r"driver/library version mismatch",
        "restart the host, as the driver was updated and the one before it is still loaded",
        "REBOOT",
    ),
    (
        r"insufficient permissions",
        "give this user access to /dev/nvidia* (the group video, or the container's devices)",
        "DRAIN",
    ),
    (
        r"access blocked by the operating system",
        "update Windows' driver, which WSL uses, and restart WSL",
        "UPDATE_DRIVER",
    ),
    (
        r"NVML: Unknown Error",
        "start the container again, which lost its devices, or restart the host if there is no container",
        "REBOOT",
    ),
)
"""Message of nvidia-smi → the remedy for any GPU, and its action."""

_Cure = tuple[str, Action]


def has_trace(host: HostRecord) -> bool:
    """Whether anything on ``host`` points to a GPU: the GPU, the bus, a driver, a failing nvidia-smi."""
    failed = host.find_failed("nvidia-smi")
    fails = failed and failed.message != _NO_TOOL and (failed.timed_out or host.pci_gpus is None)
    return bool(host.gpus or host.pci_gpus or host.pci_devices or host.driver or fails)


def expect_gpus(host: HostRecord) -> tuple[Gpu, ...]:
    """Return the GPUs on the bus whose model is known, as a driver would show them."""
    named_devices = ((pci_gpu.device, find_device_name(pci_gpu.device)) for pci_gpu in host.pci_devices)
    return tuple(
        Gpu(index=index, state="ok", name=name, device=device, compute_capability=find_model_capability(name))
        for index, (device, name) in enumerate(named_devices)
        if name
    )


def find_first_driver_of_all(host: HostRecord) -> str:
    """Return the oldest driver that shows every GPU on the bus and runs a build."""
    known = [since for pci_gpu in host.pci_devices if (since := find_first_driver(pci_gpu.device))]
    return max([OLDEST_DRIVER, *known], key=parse_version)


def explain_absent(host: HostRecord) -> Complaint | None:
    """Return why no GPU of ``host`` shows although something points to one; None if that is not the case."""
    if host.gpus or not has_trace(host):
        return None
    failed = host.find_failed("nvidia-smi")
    reason = end_with_reason(failed)
    if failed and failed.timed_out:
        return Complaint(
            f"The GPUs' state cannot be known{reason}",
            f"look for Xid lines in dmesg, then restart the host or {ANOTHER} one.",
            "RETEST",
        )
    which = f" ({_named(host.pci_devices)})" if host.pci_devices else ""
    words = failed.message if failed else ""
    cures = ((fix, action) for pattern, fix, action in _BY_WORDS if re.search(pattern, words, re.IGNORECASE))
    cure: _Cure | None = next(cures, None)
    if host.driver is None:
        on_bus = "an unknown number of" if host.pci_gpus is None else str(host.pci_gpus)
        message = f"No NVIDIA driver is loaded, and {on_bus} NVIDIA GPUs{which} are on the PCI bus{reason}"
        fix, action = cure or (_load(host), "UPDATE_DRIVER")
        return Complaint(message, f"{fix}.", action)
    on_bus = "how many are on the PCI bus cannot be read"
    if host.pci_gpus is not None:
        on_bus = f"{host.pci_gpus}{which} are on the PCI bus"
    message = f"Driver {host.driver.version} shows no GPU, and {on_bus}{reason}"
    if cure is None and host.pci_gpus:
        cure = _cure(host, host.pci_devices)
        if failed and failed.message == _NO_TOOL:
            fix = (
                f"install nvidia-smi of driver {host.driver.version} (a container: "
                "NVIDIA_DRIVER_CAPABILITIES=compute,utility), and run preflight again"
            )
            cure = fix, "UPDATE_DRIVER"
    fix, action = cure or (_CONTAINER, "DRAIN")
    return Complaint(message, f"{fix}.", action)


def explain_hidden(host: HostRecord) -> Complaint | None:
    """Return which GPUs on the bus a driver that shows others does not show; None if it shows all."""
    there = len({gpu.index for gpu in host.gpus})  # MIG instances have their GPU's
    shown = {normalise_address(gpu.pci_bus_id or "") for gpu in host.gpus}
    out = [pci_gpu for pci_gpu in host.pci_devices if normalise_address(pci_gpu.address) not in shown]
    displays = [pci_gpu for pci_gpu in out if pci_gpu.kernel_driver == _NOUVEAU]  # beside GPUs that compute
    if not there or (host.pci_gpus or 0) - len(displays) <= there:
        return None
    out = [pci_gpu for pci_gpu in out if pci_gpu not in displays]
    missing = ", ".join(f"{_name(pci_gpu)} at {pci_gpu.address}" for pci_gpu in out)
    message = f"{host.pci_gpus} NVIDIA GPUs are on the PCI bus but the driver shows {there}"
    fix, action = _cure(host, out)
    without = f"; or leave it out (rekindle_gpus: {sorted({gpu.index for gpu in find_usable_gpus(host)})})"
    return Complaint(f"{message}{f': {missing} is missing' if missing else ''}.", f"{fix}{without}.", action)


def end_with_reason(failed: FailedProbe | None) -> str:
    """Return the end of a sentence: why a probe failed, or a full stop if it did not."""
    return f": {failed.message}" if failed else "."


def _load(host: HostRecord) -> str:
    """Return how a host without a driver gets one that shows its GPUs."""
    models = [find_model(find_device_name(pci_gpu.device)) for pci_gpu in host.pci_devices]
    kinds = {model.open_module for model in models if model}
    module = _MODULE[next((kind for kind in (True, False) if kind in kinds), None)]
    ends = [model.last_driver for model in models if model and model.last_driver]
    end = min(ends, key=parse_version, default=None)
    last = f", of branch {end} at most" if end else ""
    if end and parse_version(end) < parse_version(OLDEST_DRIVER)[:1]:
        return f"{ANOTHER} host, as branch {end} is the last for it, and no build runs there"
    held = any(pci_gpu.kernel_driver == _NOUVEAU for pci_gpu in host.pci_devices)
    instead = " instead of nouveau" if held else ""
    if any(find_device_name(pci_gpu.device) is None for pci_gpu in host.pci_devices):
        return f"load the newest NVIDIA driver{instead} and run preflight again"
    first = find_first_driver_of_all(host)
    return f"load an NVIDIA driver ≥ {first}{module}{last}{instead} and run preflight again"


def _cure(host: HostRecord, out: Iterable[PciGpu]) -> _Cure:
    """Return what makes the loaded driver show GPUs that are on the bus."""
    driver, out = host.driver, list(out)
    for pci_gpu in out if driver else ():
        model, since = find_model(find_device_name(pci_gpu.device)), find_first_driver(pci_gpu.device)
        name = _name(pci_gpu)
        if driver is None or model is None:
            continue
        kind, last = _MODULE[model.open_module], model.last_driver
        if since and parse_version(driver.version) < parse_version(since):
            newer = f"load driver ≥ {since}{kind}, as {name} needs that and {driver.version} is loaded"
            return newer, "UPDATE_DRIVER"
        if last and parse_version(driver.version)[:1] > parse_version(last):
            older = (
                f"load a driver of branch {last}{kind}, the last for {name}, as {driver.version} is loaded"
            )
            return older, "UPDATE_DRIVER"
        if model.open_module is not None and {model.open_module, driver.open_module} in _OTHER_MODULE:
            return f"load driver {driver.version}{kind}, which {name} needs", "UPDATE_DRIVER"
    fallen = "look for Xid lines in dmesg (79: fallen off the bus), reset the GPUs or restart the host"
    unknown = any(find_device_name(pci_gpu.device) is None for pci_gpu in out) or not (out or host.gpus)
    if driver and unknown:
        newer = f"load a newer driver if they came out after {driver.version}"
        newer += " (Blackwell needs the open kernel module)"
        return f"{newer}; else {fallen}, {_ANOTHER}", "UPDATE_DRIVER"
    return f"{fallen}, {_ANOTHER}", "REBOOT"


def _named(devices: Iterable[PciGpu]) -> str:
    """Return the models, each once: ``NVIDIA H200``, or ``4 × Tesla V100, 2 × NVIDIA T4``."""
    counts = Counter(map(_name, devices))
    return ", ".join(f"{count} × {name}" if len(counts) > 1 else name for name, count in counts.items())


def _name(pci_gpu: PciGpu) -> str:
    return (
        find_device_name(pci_gpu.device)
        or f"a model of PCI id 10DE:{pci_gpu.device}, which is not known here"
    )


def normalise_address(text: str) -> str:
    """Return a PCI address with as many digits of domain as any."""
    domain, _, rest = text.upper().partition(":")
    return f"{domain:0>8}:{rest}"


def find_usable_gpus(host: HostRecord) -> list[Gpu]:
    """Return the GPUs and MIG instances that answer."""
    return [gpu for gpu in host.gpus if gpu.state == "ok" and not gpu.mig]


def list_visible_gpus(host: HostRecord) -> list[str]:
    """Return the UUIDs of those that one process can use: of all, or of the first MIG instance."""
    uuids = [gpu.uuid for gpu in find_usable_gpus(host) if gpu.uuid]
    return next(([uuid] for uuid in uuids if is_instance(uuid)), uuids)


def refuse_mig(gpu: Gpu) -> Complaint:
    """Return why a GPU in MIG mode without an instance gets no job."""
    name = fold_line(gpu.name or gpu.uuid or "unnamed")
    return Complaint(
        f"GPU {gpu.index} ({name}) is in MIG mode, and this user has no instance of it.",
        f"make one (nvidia-smi mig -i {gpu.index} -cgi 0 -C, as root, is one of the whole GPU), give the "
        f"container one, or switch MIG off (nvidia-smi -i {gpu.index} -mig 0, as root).",
        "NONE",
    )


def explain_none_usable(host: HostRecord) -> Complaint | None:
    """Return why no GPU of ``host`` can be used although something points to one; None if not the case."""
    if find_usable_gpus(host):
        return None
    if not host.gpus:
        return explain_absent(host)
    in_parts = [gpu for gpu in host.gpus if gpu.state == "ok"]
    if in_parts:
        return refuse_mig(in_parts[0])
    first = host.gpus[0]
    return Complaint(
        f"None of this host's {len(host.gpus)} GPUs answers: "
        f"GPU {first.index} is {'lost' if first.state == 'lost' else 'in error'}: "
        f"{fold_line(first.message or 'no reason is given')}.",
        "reset them (nvidia-smi --gpu-reset, as root) or restart the host, or use another host.",
    )


def assume_driver(host: HostRecord, version: str) -> HostRecord:
    """Return ``host`` with the GPUs that driver ``version`` shows, of the bus if none shows now."""
    if not (host.gpus or host.pci_devices):
        return host
    module = host.driver.open_module if host.driver else None
    driver = Driver(version=version, source="nvidia-smi", cuda=None, open_module=module)
    kept = tuple(gpu for gpu in host.gpus or expect_gpus(host) if _unknown(gpu, version) is None)
    return replace(host, driver=driver, gpus=kept)


def explain_losses(host: HostRecord, version: str) -> list[str]:
    """Return why driver ``version`` would show less than there is now, a sentence a GPU."""
    if not (host.gpus or host.pci_devices):
        return ["no GPU of this host is known that a driver would show"]
    return [
        f"it loses GPU {gpu.index} ({fold_line(gpu.name or 'unnamed')}): {why}"
        for gpu in host.gpus or expect_gpus(host)
        if (why := _unknown(gpu, version))
    ]


def _unknown(gpu: Gpu, version: str) -> str | None:
    """Return why driver ``version`` does not know a GPU; None if it does."""
    model, since = find_model(gpu.name), find_first_driver(gpu.device)
    last = model.last_driver if model else None
    if last and parse_version(version)[:1] > parse_version(last):
        return f"branch {last} is the last that supports it"
    if since and parse_version(version) < parse_version(since)[: len(parse_version(version))]:
        return f"driver {since} is the first that supports it"
    return None
