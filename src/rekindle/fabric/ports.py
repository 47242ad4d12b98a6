# SPDX-License-Identifier: Apache-2.0
"""The ports of a fabric's hosts: one that is slower than its fellows, or counted errors meanwhile."""

from collections.abc import Iterable, Iterator

from rekindle.acceptance.comparison import find_outliers
from rekindle.acceptance.evaluation import format_figure
from rekindle.host.ports import FLAPS
from rekindle.records.complaint import quote_host
from rekindle.records.fabric import FabricRecord, Port
from rekindle.records.text import fold_line, list_few

from .pairs import SPEED, FabricFlaw


def find_port_flaws(record: FabricRecord) -> Iterator[FabricFlaw]:
    """Yield each port whose rate is below that of its name on most hosts, or whose link came or went.

    Errors that ports counted are noted: a link may have some.
    """
    fellows: dict[str, dict[str, Port]] = {}
    for host, ports in record.ports.items():
        for port in ports:
            fellows.setdefault(port.name, {})[host] = port
    for name, by_host in fellows.items():
        rated = {host: port.gbit_s for host, port in by_host.items() if port.gbit_s}
        if not rated:
            continue
        rates = find_outliers([*rated.values()], SPEED)
        for place in () if rates.many else rates.worse:
            host = [*rated][place]
            at = f"{format_figure(rated[host])} Gbit/s, and most hosts' have {format_figure(rates.middle)}"
            yield _flaw(host, f"port {name} is {by_host[host].state or 'in no known state'} at {at}")
    for host, ports in record.ports.items():
        if flaps := [*_name_counts(ports, flaps=True)]:
            yield _flaw(host, f"a link came or went while it was measured: {list_few(flaps, 4)}")
        if errors := [*_name_counts(ports, flaps=False)]:
            message = f"its ports counted errors while it was measured: {list_few(errors, 4)}"
            yield _flaw(host, message, noted=True)


def _flaw(host: str, message: str, *, noted: bool = False) -> FabricFlaw:
    return FabricFlaw(
        hosts=(host,),
        kind="port",
        verdict=None if noted else "FAIL",
        message=quote_host(fold_line(f"{host}: {message}."))[:500],
        remedy="Look at its cable, its transceiver and its switch port; then measure again.",
        action="NONE" if noted else "RETEST",
    )


def _name_counts(ports: Iterable[Port], *, flaps: bool) -> Iterator[str]:
    for port in ports:
        for counter, count in port.grew.items():
            if (counter in FLAPS) is flaps:
                yield f"{port.name} {count} {counter}"
