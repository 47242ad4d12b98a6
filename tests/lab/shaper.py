# SPDX-License-Identifier: Apache-2.0
"""A link with a rate and a delay, as a relay of TCP between two addresses; for kernels without netem.

``python -m lab.shaper IP:PORT IP:PORT BIT_S DELAY_S`` relays from the first address to the second until it is
killed; ``ip netns exec NAME`` before it puts it into a lab host's namespace.
"""

import asyncio
import socket
import sys
import threading
import time
from types import TracebackType

Address = tuple[str, int]
_BLOCK = 8 << 10
_QUEUE_S = 0.1
"""Of data that waits for the rate, as a router's buffer has; more stays in the sender."""
_SMALL = 64 << 10
"""Bytes in a socket's own buffer: a larger one would hide the rate from the sender."""


class Way:
    """One direction of the link; all its connections share its rate.

    A block leaves when the blocks before it have left, and arrives ``delay_s`` later.
    """

    def __init__(self, bit_s: float, delay_s: float) -> None:
        """Nothing is on it."""
        self._bit_s, self._delay_s = bit_s, delay_s
        self._free = 0.0
        self.bytes = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry what comes until its end, and then that end."""
        most = self._bit_s * (self._delay_s + _QUEUE_S) / 8 / _BLOCK
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(int(most) + 16)
        delivering = asyncio.create_task(self._deliver(queue, writer))
        try:
            while not delivering.done():
                block = await reader.read(_BLOCK)
                now = time.monotonic()
                self._free = max(self._free, now) + len(block) * 8 / self._bit_s
                self.bytes += len(block)
                await queue.put((self._free + self._delay_s, block))
                if not block:
                    break
                await asyncio.sleep(max(0.0, self._free - now - _QUEUE_S))
            await delivering
        finally:
            delivering.cancel()

    @staticmethod
    async def _deliver(queue: "asyncio.Queue[tuple[float, bytes]]", writer: asyncio.StreamWriter) -> None:
        while True:
            due, block = await queue.get()
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if not block:
                writer.write_eof()
                return
            writer.write(block)
            await writer.drain()


class Shaper:
    """A relay that listens at one address and connects to another, in a thread of its own.

    Leaving it ends it and its connections; ``up`` is the way to the other address, ``down`` the way back.
    """

    def __init__(self, listen: Address, to: Address, bit_s: float, delay_s: float) -> None:
        """Take a rate for each direction and a delay of one; port 0 is any, see ``port``."""
        self.up, self.down = Way(bit_s, delay_s), Way(bit_s, delay_s)
        self._to, self._delay_s = to, delay_s
        self._socket = socket.create_server(listen, backlog=128)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
        self.port = int(self._socket.getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(self.relay(),), daemon=True
        )

    def __enter__(self) -> "Shaper":
        """Start it."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._loop.close()

    async def relay(self) -> None:
        """Relay until it is ended."""
        server = await asyncio.start_server(self._join, sock=self._socket, limit=_BLOCK)
        await self._ended.wait()
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            await asyncio.sleep(2 * self._delay_s)  # of the handshake
            there = socket.socket()
            there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
            there.setblocking(False)
            await asyncio.get_running_loop().sock_connect(there, self._to)
            back, on = await asyncio.open_connection(sock=there, limit=_BLOCK)
            writers.append(on)
            for each in writers:
                each.transport.set_write_buffer_limits(_BLOCK)
                each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ways = [self.up.carry(reader, on), self.down.carry(back, writer)]
            await asyncio.gather(*map(asyncio.create_task, ways))
        except (OSError, asyncio.CancelledError):
            pass  # a peer is gone, or this relay ends
        finally:
            for each in writers:
                each.transport.abort()


def main() -> None:
    """Relay between the addresses of the command line."""
    here, there = ((ip, int(port)) for ip, _, port in (word.rpartition(":") for word in sys.argv[1:3]))
    with Shaper(here, there, float(sys.argv[3]), float(sys.argv[4])) as shaper:
        while True:
            time.sleep(5)
            print(f"up {shaper.up.bytes} down {shaper.down.bytes}", flush=True)


if __name__ == "__main__":
    main()
