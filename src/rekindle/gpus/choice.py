# SPDX-License-Identifier: Apache-2.0
"""A host with some of its GPUs alone, as its inventory asks for."""

from collections.abc import Collection

from msgspec.structs import replace

from rekindle.records import Complaint, HostRecord

from .visibility import normalise_address


def choose_gpus(host: HostRecord, asked: Collection[str]) -> HostRecord:
    """Return ``host`` as if it had only the GPUs ``asked`` for, by index or UUID; with none, as it is.

    An index is of all MIG instances of its GPU.

    Raises:
        Complaint: one of them is not there.
    """
    if not asked or not host.gpus:
        return host
    missing = [name for name in asked if not any(name in (str(gpu.index), gpu.uuid) for gpu in host.gpus)]
    if missing:
        there = ", ".join(f"{gpu.index} ({gpu.uuid})" for gpu in host.gpus)
        raise Complaint(
            f"rekindle_gpus asks for GPU {missing[0]}, and {host.host} has {there}.",
            "name indices or UUIDs of these.",
        )
    kept = [at for at, gpu in enumerate(host.gpus) if {str(gpu.index), gpu.uuid} & {*asked}]
    gpus = tuple(host.gpus[at] for at in kept)
    addresses = {normalise_address(gpu.pci_bus_id or "") for gpu in gpus}
    return replace(
        host,
        gpus=gpus,
        pci_gpus=None if host.pci_gpus is None else len({gpu.index for gpu in gpus}),
        pci_devices=tuple(of for of in host.pci_devices if normalise_address(of.address) in addresses),
        topology=tuple(tuple(host.topology[row][at] for at in kept) for row in kept) if host.topology else (),
    )
