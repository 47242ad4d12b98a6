"""A host as another driver would show it."""

from __future__ import annotations

from msgspec.structs import replace

from rekindle.gpus.models import first_driver, model_of, version_key
from rekindle.gpus.usable import expected
from rekindle.records import Driver, Gpu, HostRecord

from .axes import name_of


def with_driver(host: HostRecord, version: str) -> HostRecord:
    """Return ``host`` with the GPUs that driver ``version`` shows, of the bus if none shows now."""
    if not (host.gpus or host.pci_devices):
        return host
    module = host.driver.open_module if host.driver else None
    driver = Driver(version=version, source="nvidia-smi", cuda=None, open_module=module)
    kept = tuple(gpu for gpu in host.gpus or expected(host) if _unknown(gpu, version) is None)
    return replace(host, driver=driver, gpus=kept)


def losses(host: HostRecord, version: str) -> list[str]:
    """Return why driver ``version`` would show less than there is now, a sentence a GPU."""
    if not (host.gpus or host.pci_devices):
        return ["no GPU of this host is known that a driver would show"]
    return [
        f"it loses GPU {gpu.index} ({name_of(gpu)}): {why}"
        for gpu in host.gpus or expected(host)
        if (why := _unknown(gpu, version))
    ]


def _unknown(gpu: Gpu, version: str) -> str | None:
    """Return why driver ``version`` does not know a GPU; None if it does."""
    model, since = model_of(gpu.name), first_driver(gpu.device)
    last = model.last_driver if model else None
    if last and version_key(version)[:1] > version_key(last):
        return f"branch {last} is the last that knows it"
    if since and version_key(version) < version_key(since)[: len(version_key(version))]:
        return f"driver {since} is the first that knows it"
    return None
