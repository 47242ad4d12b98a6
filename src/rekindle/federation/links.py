"""A job's model against the links of its sites: NVFlare's settings, the seconds of a round, and refusals.

NVFlare sends a tensor in chunks of 1 MiB and has at most a window of them under way. 2.9 sends a chunk again
that is not acknowledged within 5 s, and chunks wait behind the window: where that takes longer, all is sent
many times, and little arrives (measured: a round with one tensor of 50 MB over 20 Mbit/s had sent 529 MB down
after 400 s and was not over).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rekindle.records import Complaint, LinkRecord

_MIB = 1 << 20
_OWN_WINDOW, _OWN_CHUNK = 64 * _MIB, _MIB
"""Of 2.9.0 as installed (source: streaming/stream_const.py)."""
_SHARE_S = 0.3
"""Seconds' worth of bit/s in the window, as bytes, so that a window and an acknowledgement's wait take 3 s.
Measured with 2.9.0: clean at 2 to 4 s, duplicates at 5.4 s, no end at 10 s."""
_SMALLEST = 16 << 10
_OVERHEAD = 1.02
"""Bytes sent for a byte of the model, where nothing is sent twice; measured with 2.9.0: 1.003 to 1.01."""
_SETTLE_S = 1.5
"""Of each direction: the task is fetched, the answer is packed. Measured with 2.9.0: 0.4 to 2.8 s."""
_REQUEST_BYTES, _REQUEST_TRIPS = 2 * _MIB, 1.5
"""Smaller tensors are asked for together (source: decomposers.py), and each request costs round trips
(measured with 2.9.0: 25 requests at 50 ms made 20 s 22, 48 at 100 ms made 8 s 15)."""
_REQUEST_S = 600
"""For one tensor (source: …streaming_per_request_timeout of a job; 3 attempts)."""
_ACK_S = 60
"""Without any acknowledgement (source: streaming_ack_progress_timeout)."""
_BLOB = 4 << 30
"""Of one tensor (source: streaming_max_blob_size)."""
_SERVER_BYTES, _SERVER_SHARE = 450_000_000, 5.8
"""Memory of the server's job process, without a model and for a byte of it. Measured with torch and 2.9.0:
50, 100 and 250 MB took 0.78, 1.07 and 1.84 GB with one site, and 0.75 and 1.8 to 2.0 GB with several."""


@dataclass(frozen=True)
class Model:
    """What one site and the server exchange in one direction of a round."""

    bytes: int
    largest: int
    """Bytes of its largest tensor."""


@dataclass(frozen=True)
class Transfers:
    """What is foretold of a job's transfers."""

    environ: Mapping[str, str]
    """Variables of every NVFlare process and trainer of the federation."""
    seconds: Mapping[str, float]
    """Of a round's transfers, down and up, by site, if each has its link to itself."""
    shared_s: float
    """The same of all sites, if the fastest link is what the server has for all of them together."""

    @property
    def round_s(self) -> float:
        """Of the slowest site."""
        return max(self.seconds.values())


def streaming(links: Mapping[str, LinkRecord], release: str) -> dict[str, str]:
    """Return the variables with which no chunk waits too long, also where all sites share one link.

    A window below R·RTT/8 bytes makes a link of R bit/s slower, which `foretell` counts with. Releases before
    2.9 send nothing twice (source) and stay as they are.
    """
    slowest = min(min(link.down_bit_s, link.up_bit_s) for link in links.values()) / len(links)
    if _version(release) < (2, 9) or _SHARE_S * slowest >= _OWN_WINDOW:
        return {}
    window = max(_SMALLEST, 1 << (int(_SHARE_S * slowest).bit_length() - 1))
    set_to = {"WINDOW_SIZE": window, "ACK_INTERVAL": window // 4}
    if window // 4 < _OWN_CHUNK:
        set_to["CHUNK_SIZE"] = window // 4
    return {f"NVFLARE_STREAMING_{name}": str(value) for name, value in set_to.items()}


def foretell(
    links: Mapping[str, LinkRecord], model: Model, release: str, server_memory: int | None = None
) -> Transfers:
    """Return what a job's transfers take; bytes, bit/s and seconds.

    Args:
        links: of each site that takes part, by host.
        model: what is exchanged.
        release: NVFlare's, of all hosts.
        server_memory: bytes that the server's host has for the job's process; None: not known.

    Raises:
        Complaint: it cannot work; a sentence with the figures.
    """
    environ = streaming(links, release)
    window = int(environ.get("NVFLARE_STREAMING_WINDOW_SIZE", _own_window(release)))
    seconds = {}
    for host, link in links.items():
        rates = [min(rate, 8 * window / link.rtt_s) for rate in (link.down_bit_s, link.up_bit_s)]
        _require(host, min(rates), model, window, release)
        requests_s = _REQUEST_TRIPS * link.rtt_s * model.bytes / max(model.largest, _REQUEST_BYTES)
        seconds[host] = sum(8 * model.bytes * _OVERHEAD / rate + requests_s + _SETTLE_S for rate in rates)
    needed = _SERVER_BYTES + _SERVER_SHARE * model.bytes
    if server_memory is not None and needed > server_memory:
        raise Complaint(
            f"A model of {model.bytes / 1e6:.0f} MB takes {needed / 1e9:.1f} GB at the server, which has "
            f"{server_memory / 1e9:.1f} GB.",
            "give the federation a server with more memory, or exchange less of the model.",
        )
    together = sum(8 * model.bytes * _OVERHEAD * len(links) / max(rates) for rates in _each_way(links))
    shared_s = together + 2 * _SETTLE_S
    return Transfers(environ, seconds, max(shared_s, *seconds.values()))


def _each_way(links: Mapping[str, LinkRecord]) -> tuple[list[float], list[float]]:
    return [link.down_bit_s for link in links.values()], [link.up_bit_s for link in links.values()]


def _require(host: str, rate: float, model: Model, window: int, release: str) -> None:
    """Look whether the largest tensor passes a link of ``rate`` bit/s.

    Raises:
        Complaint: it does not.
    """
    tensor = f"The largest tensor of the model has {model.largest / 1e6:.0f} MB"
    takes, speed = 8 * model.largest / rate, f"{host}'s {rate / 1e6:.3g} Mbit/s"
    if takes >= _REQUEST_S:
        raise Complaint(
            f"{tensor} and takes {takes:.0f} s at {speed}; NVFlare bears {_REQUEST_S} s.",
            "split it, raise np_ and tensor_streaming_per_request_timeout in the job, or leave the site out.",
        )
    if 8 * window / 4 / rate >= _ACK_S:
        raise Complaint(
            f"{speed} is too slow: NVFlare {release} needs {window / 4e6:.1f} MB to pass in {_ACK_S} s.",
            "leave the site out, or give it a faster link.",
        )
    if model.largest >= _BLOB and _version(release) >= (2, 9):
        raise Complaint(
            f"{tensor}; NVFlare {release} takes {_BLOB / 1e6:.0f} MB at most.",
            "split it, or raise NVFLARE_STREAMING_MAX_BLOB_SIZE on all hosts.",
        )


def _own_window(release: str) -> int:
    return _OWN_WINDOW if _version(release) >= (2, 9) else 16 * _MIB  # source: byte_streamer.py


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:2] if part.isdigit())
