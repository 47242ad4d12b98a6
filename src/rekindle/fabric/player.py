# SPDX-License-Identifier: Apache-2.0
"""A host's part of a survey: it does what the conductor asks, each measurement in processes of its own.

Runs in an environment that has torch. Nothing that hangs in one measurement is left in the next.
"""

import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rekindle.host import nccl
from rekindle.host.ports import list_ports, watch_ports
from rekindle.host.variables import name_machine

from . import measure
from .wire import AnswerLine, hear_lines, make_token, open_connection, write_line

Work = Callable[[Callable[[str], None]], dict[str, Any]]
"""What one process does; it reports where it is."""

_WARM_S = 150.0
_TEXT = 300
"""Characters of an error; the log beside the record has it whole."""


def serve_conductor(spec: dict[str, Any]) -> None:
    """Answer the conductor until it leaves.

    Args:
        spec: of `parts.make_parts`.

    Raises:
        OSError: there is no conductor, or none any more.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(spec["gpus"])
    gpus, began = len(visible.split(",")) if spec["gpus"] else 0, list_ports()
    _run_ranks([lambda _: measure.prepare_devices(gpus)], time.monotonic() + _WARM_S)
    peer = open_connection(spec["address"], spec["port"], spec["join_s"])
    peer.settimeout(spec["total_s"])
    _choose_interface(peer)
    host, token = spec["host"] or name_machine(os.environ), spec["token"]
    me = {
        "host": host,
        "token": make_token(token, host) if spec["conducts"] else token,
        "ranks": max(1, gpus),
        "ports": watch_ports(began),
    }
    write_line(peer, me)
    for order in hear_lines(peer):
        ranks, limit_s = min(order["ranks"], max(1, gpus)), min(order["limit_s"], 2 * spec["limit_s"])
        answer = _measure({**order, "gpus": gpus, "ranks": ranks, "limit_s": limit_s})
        write_line(peer, {"id": order["id"], **answer, "ports": watch_ports(began)})


def _measure(order: dict[str, Any]) -> AnswerLine:
    """Return the fields of a FabricLook that this host knows."""
    before = _count_segments()
    with tempfile.TemporaryDirectory() as folder:
        _ask_nccl(Path(folder))

        def make(local: int) -> Work:
            return lambda report: measure.measure_rank(order, local, report)

        ranks, ends = [make(local) for local in range(order["ranks"])], time.monotonic() + order["limit_s"]
        answers, stages = _run_ranks(ranks, ends)
        found = _merge(answers, stages, order["limit_s"])
        logs = [path.read_text(errors="replace") for path in Path(folder).glob("nccl-*.log")]
    if found["outcome"] == "failed" and (said := next(filter(None, map(nccl.find_warning, logs)), None)):
        found["message"] = f"NCCL: {said} ({found['message']})"
    each = order["ranks"]
    ways = {way for log in logs for way in nccl.find_transports(log, lambda a, b: a // each != b // each)}
    cards = {card for _, card in ways if card}
    if not order["gpus"]:  # gloo
        ways, cards = {("TCP", "")}, {os.environ["GLOO_SOCKET_IFNAME"]}
    found["transports"], found["devices"] = sorted({name for name, _ in ways}), sorted(cards)
    sent, again = (after - at for after, at in zip(_count_segments(), before, strict=True))
    found["resent"] = min(1.0, round(again / sent, 6)) if sent > 0 else None
    return found


def _merge(answers: list[dict[str, Any] | None], stages: list[str], limit_s: float) -> dict[str, Any]:
    failed = [answer["error"] for answer in answers if answer and "error" in answer]
    if failed:
        return {"outcome": "failed", "message": failed[0]}
    if None in answers:
        stage = stages[answers.index(None)]
        return {"outcome": "hung", "message": f"{stage} when {limit_s:g} s were over"}
    found: dict[str, Any] = {"outcome": "measured"}
    for answer in answers:
        found |= answer or {}
    return {**found, "wrong": max(answer["wrong"] for answer in answers if answer)}


def _run_ranks(ranks: list[Work], ends: float) -> tuple[list[dict[str, Any] | None], list[str]]:
    """Run each in a process of its own; return what each returns or None, and where each was last."""
    running: dict[int, tuple[int, int, bytearray]] = {}
    for number, rank in enumerate(ranks):
        output, to = os.pipe()
        pid = os.fork()  # torch is imported, and no GPU in use, so that this takes milliseconds
        if pid == 0:
            _be_rank(rank, to)
        os.close(to)
        running[output] = (number, pid, bytearray())
    texts = [b""] * len(ranks)
    while running:
        ready, _, _ = select.select([*running], [], [], max(0.0, ends - time.monotonic()))
        for output in ready or [*running]:
            number, pid, text = running[output]
            block = os.read(output, 1 << 16) if ready else b""
            text += block
            if not block or len(text) > 1 << 20:
                os.close(output)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                texts[number] = bytes(text)
                del running[output]
    lines = [[json.loads(line) for line in text.splitlines()] for text in texts]
    answers = [next((line["is"] for line in of if "is" in line), None) for of in lines]
    stages = [next((line["at"] for line in reversed(of) if "at" in line), "it began") for of in lines]
    return answers, stages


def _be_rank(rank: Work, to: int) -> None:
    """Be the process of one rank; does not return."""
    try:
        with open(to, "w", encoding="utf-8") as stream:

            def write(**fields: Any) -> None:
                print(json.dumps(fields), file=stream, flush=True)

            try:
                write(**{"is": rank(lambda stage: write(at=stage))})
            except Exception as error:  # whatever torch raises is what is wrong
                print(repr(error), file=sys.stderr, flush=True)
                lines = str(error).splitlines() or [type(error).__name__]
                write(**{"is": {"error": lines[0][:_TEXT]}})
    finally:
        os._exit(0)


def _choose_interface(peer: socket.socket) -> None:
    """Have gloo and NCCL use the interface of the conductor's network first, unless a user chose one."""
    own = peer.getsockname()[0]
    for _, name in socket.if_nameindex():
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
            answer = fcntl.ioctl(
                asks.fileno(), 0x8915, struct.pack("256s", name.encode()[:15])
            )  # SIOCGIFADDR
            if socket.inet_ntoa(answer[20:24]) == own:
                os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
                os.environ.setdefault("NCCL_SOCKET_IFNAME", name)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


def _ask_nccl(folder: Path) -> None:
    os.environ["NCCL_DEBUG"], os.environ["NCCL_DEBUG_SUBSYS"] = "INFO", "INIT,NET"
    os.environ["NCCL_DEBUG_FILE"] = str(folder / "nccl-%p.log")


def _count_segments() -> tuple[int, int]:
    """Return how many segments TCP has sent here, and how many of them again."""
    with suppress(OSError, ValueError, KeyError):
        names, values = (
            line.split()
            for line in Path("/proc/net/snmp").read_text().splitlines()
            if line.startswith("Tcp:")
        )
        counts = dict(zip(names, values, strict=True))
        return int(counts["OutSegs"]), int(counts["RetransSegs"])
    return 0, 0
