# SPDX-License-Identifier: Apache-2.0
"""Measure the GPUs of this host, and the host, into evidence/acceptance.jsonl.

job.py --gpu [UUID,UUID…] [--minutes=N]

One process a GPU (`ranks.py`) measures; this one reads nvidia-smi before, meanwhile and after, and the disks
while those begin. What is worse than it should be is measured again (`again.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import again
import meanwhile
import ports
import smi
import storage

from rekindle.host.instances import is_instance

_TOGETHER = ("all_reduce", "all_gather", "reduce_scatter")
_LIMIT_S = 240.0
"""Of the ranks, beside the minutes of a burn."""


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--minutes", type=float, default=0.0)
    args = parser.parse_args()
    uuids = args.gpu.strip("[]").split(",")
    evidence = Path(os.environ["REKINDLE_EVIDENCE"])
    spec = json.loads((evidence.parent / "spec.json").read_text())
    began, started = time.monotonic(), time.gmtime()
    load, before = os.getloadavg()[0], smi.read(uuids)
    gpus = [before.gpus[uuid] for uuid in uuids]
    with tempfile.TemporaryDirectory() as folder, meanwhile.sampled(Path(folder), uuids) as read:
        ranks = _start(uuids, Path(folder), args.minutes)
        with ThreadPoolExecutor() as pool:
            disks = pool.submit(storage.measure, {"root": evidence, "tmp": Path(tempfile.gettempdir())})
            _wait(ranks, _LIMIT_S + 60 * args.minutes)
            figures = disks.result()
        figures += _figures(Path(folder))
        conditions = read()
        nccl_log = "\n".join(path.read_text(errors="replace") for path in Path(folder).glob("nccl-*.log"))
    for figure in figures:
        if figure["name"].startswith(_TOGETHER) and (links := _links(nccl_log)):
            figure["message"] += f", by {links}"
    after = smi.read(uuids)
    figures += smi.measurements(before, after, uuids)
    figures += ports.measure()
    for uuid in uuids:
        seen = (condition.pop("pcie_generation") for condition in conditions if condition["gpu"] == uuid)
        figures.append(smi.pcie_generation(after.gpus[uuid], max(filter(None, seen), default=None)))
    figures += meanwhile.measurements(conditions, uuids, burn=args.minutes > 0)
    record: dict[str, Any] = {
        "schema": "rekindle/acceptance/1",
        "host": spec["host"],
        "mode": "burn" if args.minutes else "short",
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", started),
        "seconds": round(time.monotonic() - began, 2),
        "kind": {
            "model": " + ".join(sorted({gpu.name for gpu in gpus})),
            "count": len(gpus),
            "topology": smi.worst_link([gpu.index for gpu in gpus]),
            "nvls": _nvls(nccl_log),
            "driver": before.driver,
        },
        "gpus": [
            {
                "index": gpu.index,
                "uuid": gpu.uuid,
                "serial": gpu.serial,
                "name": gpu.name,
                "pci_bus_id": gpu.bus,
            }
            for gpu in gpus
        ],
        "norms": spec.get("norms"),
        "measurements": figures,
        "conditions": conditions,
        "looks": [again.seen(0.0, before, after, load, uuids)],
    }
    limit_s = spec.get("job", {}).get("limit_s", _LIMIT_S)
    again.look_again(record, lambda names: _look(uuids, names, began), began + limit_s)
    record["seconds"] = round(time.monotonic() - began, 2)
    line = {"event": "acceptance", "time": time.time(), "nonce": os.environ.get("REKINDLE_NONCE") or None}
    (evidence / "acceptance.jsonl").write_text(json.dumps(line | {"record": record}) + "\n")
    print(f"{len(figures)} figures of {len(gpus)} GPUs in {record['seconds']} s.")


def _look(uuids: list[str], names: list[str], began: float) -> tuple[dict[str, Any], again.Figures]:
    """Measure these names and nothing else; return who else used the GPUs, and the figures."""
    at = time.monotonic() - began
    load, before = os.getloadavg()[0], smi.read(uuids)
    with tempfile.TemporaryDirectory() as folder:
        _wait(_start(uuids, Path(folder), 0, *names), again.LOOK_S)
        figures = _figures(Path(folder))
    after = smi.read(uuids)
    figures += smi.measurements(before, after, uuids)
    return again.seen(at, before, after, load, uuids), figures


def _figures(folder: Path) -> again.Figures:
    return [figure for path in sorted(folder.glob("rank-*.json")) for figure in json.loads(path.read_text())]


def _start(uuids: list[str], folder: Path, minutes: float, *names: str) -> list[subprocess.Popen[bytes]]:
    """Start a process for each GPU, to measure ``names`` or everything.

    All see all, in this order; of MIG instances each sees its own, as CUDA has it.
    """
    cut = any(map(is_instance, uuids))
    environ = {
        **os.environ,
        "WORLD_SIZE": str(len(uuids)),
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,GRAPH,P2P,NET",
        "NCCL_DEBUG_FILE": str(folder / "nccl-%p.log"),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    ranks = Path(__file__).with_name("ranks.py")
    return [
        subprocess.Popen(
            [sys.executable, str(ranks), str(folder), str(minutes), *names],
            env={**environ, "RANK": str(rank), "CUDA_VISIBLE_DEVICES": uuid if cut else ",".join(uuids)},
        )
        for rank, uuid in enumerate(uuids)
    ]


def _wait(ranks: list[subprocess.Popen[bytes]], limit_s: float) -> None:
    """Wait for all; as soon as one fails, or at the limit, none is left."""
    ends = time.monotonic() + limit_s
    try:
        while True:
            statuses = [rank.poll() for rank in ranks]
            for number, status in enumerate(statuses):
                if status:
                    sys.exit(f"The process of GPU {number} ended with status {status}.")
            late = [number for number, status in enumerate(statuses) if status is None]
            if not late:
                return
            if time.monotonic() > ends:
                sys.exit(f"The processes of GPUs {late} did not end within {limit_s:.0f} s.")
            time.sleep(0.05)
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def _links(nccl_log: str) -> str:
    """Return by what NCCL's channels go between GPUs, the most first: ``P2P/CUMEM``, ``SHM/direct``."""
    ways = Counter(re.findall(r" via ([A-Z][A-Z0-9]*/\w+)", nccl_log))
    return " and ".join(way for way, _ in ways.most_common())


def _nvls(nccl_log: str) -> bool | None:
    """Whether NCCL logs that it uses NVLink SHARP; None if it logs nothing about it."""
    counts = re.findall(r"(\S+) nvls channels", nccl_log)
    return any(count != "0" for count in counts) if counts else None


if __name__ == "__main__":
    main()
