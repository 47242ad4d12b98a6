# SPDX-License-Identifier: Apache-2.0
"""Seconds that a round's transfers take in a large federation, on paper, as Rekindle predicts them.

    .venv/bin/python benchmarks/federation_sizes.py

Every site has a link like the server's, so that the server's is what they share. The last rows are of
clients in a hierarchy: each sends the server one aggregate of its branch.
"""

from rekindle.federation.links import foretell_transfers
from rekindle.federation.records import LinkRecord
from rekindle.federation.sizes import estimate_seconds
from rekindle.records import dump_builtins, format_time

RELEASE = "2.7.3"
SITES, GBIT_S, MEGABYTES = (4, 100, 1000), (1, 10, 100), (1, 100, 500)
BRANCHES = 10
RTT_S = 0.001


def round_s(sites: int, gbit_s: int, megabytes: int) -> float:
    """Return the seconds of a round's transfers."""
    link = LinkRecord(
        host="site",
        address="server",
        port=8002,
        rtt_s=RTT_S,
        down_bit_s=gbit_s * 1e9,
        up_bit_s=gbit_s * 1e9,
        release=RELEASE,
        at=format_time(),
    )
    ways = foretell_transfers({f"site-{number}": link for number in range(sites)}, RELEASE).ways
    sizes = {"model": megabytes * 1_000_000, "tensor": megabytes * 1_000_000}
    return max(estimate_seconds(dump_builtins(way), sizes) for way in ways)


def main() -> None:
    """Print one table."""
    print(f"{'sites':>6}{'Gbit/s':>8}" + "".join(f"{f'{size} MB':>10}" for size in MEGABYTES))
    for sites in (*SITES, BRANCHES):
        for gbit_s in GBIT_S:
            seconds = (round_s(sites, gbit_s, size) for size in MEGABYTES)
            print(f"{sites:6}{gbit_s:8}" + "".join(f"{second:10.1f}" for second in seconds))


if __name__ == "__main__":
    main()
