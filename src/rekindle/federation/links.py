# SPDX-License-Identifier: Apache-2.0
"""A job's model against the links of its sites: NVFlare's settings, the seconds of a round, and refusals.

NVFlare sends a tensor in chunks of 1 MiB and has at most a window of them under way. 2.9 sends a chunk again
that is not acknowledged within 5 s, and chunks wait behind the window: where that takes longer, all is sent
many times, and little arrives (measured: a round with one tensor of 50 MB over 20 Mbit/s had sent 529 MB down
after 400 s and was not over).
"""

from collections.abc import Mapping

from rekindle.gpus.models import parse_version
from rekindle.records import Complaint

from .records import Bound, LinkRecord, Transfers, Way

_MIB = 1 << 20
_OWN_WINDOW, _OWN_CHUNK = 64 * _MIB, _MIB
"""Of 2.9.0 as installed (source: streaming/stream_const.py)."""
_SHARE_S = 0.3
"""Seconds' worth of bit/s in the window, as bytes, so that a window and an acknowledgement's wait take 3 s.
Measured with 2.9.0: clean at 2 to 4 s, duplicates at 5.4 s, no end at 10 s."""
_SMALLEST = 16 << 10
_OVERHEAD = 1.02
"""Bytes sent for a byte of the model, where nothing is sent twice; measured with 2.9.0: 1.003 to 1.01."""
_REQUEST_TRIPS = 1.5
"""Of each request for tensors (measured with 2.9.0: 25 of 50 ms made 20 s 22, 48 of 100 ms made 8 s 15)."""
_REQUEST_S = 600
"""For one tensor (source: …streaming_per_request_timeout of a job; 3 attempts)."""
_ACK_S = 60
"""Without any acknowledgement (source: streaming_ack_progress_timeout)."""
_BLOB = 4 << 30
"""Of one tensor (source: streaming_max_blob_size)."""


def tune_streaming(links: Mapping[str, LinkRecord], release: str) -> dict[str, str]:
    """Return the variables with which no chunk waits too long, also where all sites share one link.

    A window below R·RTT/8 bytes makes a link of R bit/s slower, and `foretell_transfers` counts with it.
    Releases before 2.9 send nothing twice (source) and stay as they are.
    """
    slowest = min(min(link.down_bit_s, link.up_bit_s) for link in links.values()) / len(links)
    if parse_version(release) < (2, 9) or _SHARE_S * slowest >= _OWN_WINDOW:
        return {}
    window = max(_SMALLEST, 1 << (int(_SHARE_S * slowest).bit_length() - 1))
    set_to = {"WINDOW_SIZE": window, "ACK_INTERVAL": window // 4}
    if window // 4 < _OWN_CHUNK:
        set_to["CHUNK_SIZE"] = window // 4
    return {f"NVFLARE_STREAMING_{name}": str(value) for name, value in set_to.items()}


def foretell_transfers(links: Mapping[str, LinkRecord], release: str) -> Transfers:
    """Return what a job's transfers may be, and take; bytes, bit/s and seconds.

    Args:
        links: of each site that takes part, by host.
        release: NVFlare's, of all hosts.

    Raises:
        Complaint: a link is too slow for any model.
    """
    environ = tune_streaming(links, release)
    window = int(environ.get("NVFLARE_STREAMING_WINDOW_SIZE", _own_window(release)))
    ways, slowest = [], (float("inf"), "")
    for host, link in links.items():
        rates = [min(rate, 8 * window / link.rtt_s) for rate in (link.down_bit_s, link.up_bit_s)]
        slowest = min(slowest, (min(rates), host))
        byte_s = sum(8 * _OVERHEAD / rate for rate in rates)
        ways.append(Way(site=host, byte_s=byte_s, request_s=len(rates) * _REQUEST_TRIPS * link.rtt_s))
    if len(links) > 1:
        each_way = [link.down_bit_s for link in links.values()], [link.up_bit_s for link in links.values()]
        together = sum(8 * _OVERHEAD * len(links) / max(rates) for rates in each_way)
        ways.append(Way(site="the server", byte_s=together, request_s=0))
    return Transfers(environ=environ, ways=tuple(ways), bound=_find_bound(*slowest, window, release))


def _find_bound(rate: float, host: str, window: int, release: str) -> Bound:
    """Return what a link of ``rate`` bit/s carries, and NVFlare takes.

    Raises:
        Complaint: the link is too slow for any model.
    """
    speed = f"{host}'s {rate / 1e6:.3g} Mbit/s"
    if 8 * window / 4 / rate >= _ACK_S:
        raise Complaint(
            f"{speed} is too slow: NVFlare {release} needs {window / 4e6:.1f} MB to pass in {_ACK_S} s.",
            "leave the site out, or give it a faster link.",
        )
    passes = int(rate * _REQUEST_S / 8)
    if parse_version(release) >= (2, 9) and passes > _BLOB:
        return Bound(
            bytes=_BLOB,
            why=f"NVFlare {release} takes {_BLOB / 1e6:.0f} MB at most.",
            fix="split it, or raise NVFLARE_STREAMING_MAX_BLOB_SIZE on all hosts.",
        )
    return Bound(
        bytes=passes,
        why=f"{passes / 1e6:.0f} MB pass {speed} within the {_REQUEST_S} s that NVFlare allows.",
        fix="split it, raise np_ and tensor_streaming_per_request_timeout in the job, or leave the site out.",
    )


def _own_window(release: str) -> int:
    return _OWN_WINDOW if parse_version(release) >= (2, 9) else 16 * _MIB  # source: byte_streamer.py
