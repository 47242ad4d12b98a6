# SPDX-License-Identifier: Apache-2.0
"""Xid errors of GPUs, from NVML's events and the kernel's log; this reads only, and sets nothing."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pynvml

from ..gpus.xids import Address, find_xid, parse_address

KERNEL_LOG = Path("/dev/kmsg")
_AT_ONCE = 1000
"""Most that is read of either source at once; the rest waits for the next sample."""
_NO_INSTANCE = 0xFFFFFFFF
"""In an event that is of no MIG instance more than of another."""
_Parts = dict[str, int | None]
"""What is watched of one GPU by UUID, with the numbers of MIG instances."""


class Xids:
    """Watches GPUs from now on."""

    def __init__(self, handles: dict[str, Any]) -> None:
        """Watch the GPUs with these NVML handles, by UUID."""
        self._sources: dict[str, _Events | _KernelLog] = {
            "NVML": _Events(handles),
            "kernel": _KernelLog(handles),
        }

    def read_new(self) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[str, ...]]]:
        """Return the Xid errors since the call before, and what watches, by the UUIDs of the GPUs watched."""
        found: dict[str, set[int]] = {}
        by: dict[str, tuple[str, ...]] = {}
        for name, source in self._sources.items():
            new: dict[str, set[int]] = {uuid: set() for parts in source.watched.values() for uuid in parts}
            try:
                for uuid, xid in source.errors():
                    new[uuid].add(xid)
            except (OSError, pynvml.NVMLError):
                # The source has failed: errors read before count, and no GPU is shown to have none.
                new = {uuid: xids for uuid, xids in new.items() if xids}
            for uuid, xids in new.items():
                found.setdefault(uuid, set()).update(xids)
                by[uuid] = (*by.get(uuid, ()), name)
        return {uuid: tuple(sorted(xids)) for uuid, xids in found.items()}, by


class _Events:
    """NVML's events, which need no rights; some virtual machines have none."""

    def __init__(self, handles: dict[str, Any]) -> None:
        self.watched: dict[int | None, _Parts] = {}
        if not handles:
            return
        kind = pynvml.nvmlEventTypeXidCriticalError
        with suppress(pynvml.NVMLError):
            self._event_set = pynvml.nvmlEventSetCreate()
            for uuid, given in handles.items():
                with suppress(pynvml.NVMLError):
                    handle, instance = _find_board(given)
                    if pynvml.nvmlDeviceGetSupportedEventTypes(handle) & kind:
                        pynvml.nvmlDeviceRegisterEvents(handle, kind, self._event_set)
                        self.watched.setdefault(_address(handle), {})[uuid] = instance

    def errors(self) -> Iterator[tuple[str, int]]:
        with suppress(pynvml.NVMLError_Timeout):
            for _ in range(_AT_ONCE if self.watched else 0):
                event = pynvml.nvmlEventSetWait_v2(self._event_set, 0)
                parts = self.watched.get(_address(event.device), {})
                if event.eventType == pynvml.nvmlEventTypeXidCriticalError:
                    of = {None, event.gpuInstanceId}
                    everyone = event.gpuInstanceId == _NO_INSTANCE
                    yield from ((uuid, event.eventData) for uuid in parts if everyone or parts[uuid] in of)


class _KernelLog:
    """The kernel's messages, where this user may read them and NVIDIA's driver writes to them."""

    def __init__(self, handles: dict[str, Any]) -> None:
        self.watched: dict[Address, _Parts] = {}
        self._file: int | None = None
        if not handles:
            return
        with suppress(OSError):
            self._file = os.open(KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK)
            if any("NVRM: " in record for record in self._read(1 << 20)):
                for uuid, handle in handles.items():
                    with suppress(pynvml.NVMLError):
                        board, instance = _find_board(handle)
                        bus = pynvml.nvmlDeviceGetPciInfo(board).busId
                        address = parse_address(bus.decode() if isinstance(bus, bytes) else bus)
                        self.watched.setdefault(address, {})[uuid] = instance

    def errors(self) -> Iterator[tuple[str, int]]:
        for record in self._read(_AT_ONCE) if self.watched else ():
            found = find_xid(record)
            if found:
                yield from ((uuid, found[1]) for uuid in self.watched.get(found[0], ()))

    def _read(self, most: int) -> list[str]:
        """Return the records that have not been read; the kernel drops the oldest that nobody reads."""
        records: list[str] = []
        while self._file is not None and len(records) < most:
            try:
                read = os.read(self._file, 1 << 13)
            except BrokenPipeError:  # the next one was dropped
                continue
            except BlockingIOError:
                break
            if not read:
                break
            records += read.decode("utf-8", errors="replace").splitlines()
        return records


def _find_board(handle: Any) -> tuple[Any, int | None]:
    """Return the handle of a whole GPU, and the number of its GPU instance if ``handle`` is of one."""
    with suppress(pynvml.NVMLError):
        if pynvml.nvmlDeviceIsMigDeviceHandle(handle):
            board = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
            return board, pynvml.nvmlDeviceGetGpuInstanceId(handle)
    return handle, None


def _address(handle: Any) -> int | None:
    """Return what identifies an NVML handle, even after its GPU stopped answering."""
    return ctypes.cast(handle, ctypes.c_void_p).value
