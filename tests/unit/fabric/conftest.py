# SPDX-License-Identifier: Apache-2.0
"""Fabrics whose every link is known, measured by `Conduct` without a network."""

import pytest

from rekindle.fabric.schedule import order_pair
from rekindle.fabric.survey import Conduct
from rekindle.records.fabric import Bandwidth, FabricLook, FabricRecord

SIZE = 16 << 20


class Network:
    """Hosts, of whose links some are other than 10 GB/s; a test changes what ``fault`` says of a group."""

    def __init__(self, hosts, norms=None):
        self.norms = norms
        self.hosts = tuple(f"h{number}" for number in range(hosts))
        self.rates, self.faults, self.steps = {}, [], []

    def set_rate(self, one, other, *rates):
        """Give a link these rates, one a look; the last one stays."""
        self.rates[order_pair(one, other)] = list(rates)

    def look(self, group):
        """Return one look at a group, which is as fast as its slowest link."""
        pairs = [order_pair(one, other) for one in group for other in group if one < other]
        rate = min(self._rate(pair) for pair in pairs)
        self.figures = tuple(Bandwidth(op=op, size=SIZE, gb_s=rate) for op in ("all_reduce", "all_gather"))
        fields = {"outcome": "measured", "latency_us": 50.0, "resent": 0.0, "bandwidths": self.figures}
        fields |= {"transports": ("TCP",), "devices": ("eth0",)}
        for fault in self.faults:
            fields |= fault(set(group)) or {}
        return FabricLook(hosts=group, **fields)

    def _rate(self, pair):
        rates = self.rates.get(pair, [10.0])
        return rates.pop(0) if len(rates) > 1 else rates[0]

    def survey(self):
        """Return the record of a survey."""
        conduct = Conduct(self.hosts, self.norms)
        steps = conduct.list_steps()
        step = next(steps, None)
        while step is not None:
            self.steps.append(step)
            for group in step.groups:
                assert not conduct.silent.keys() & set(group)
            try:
                step = steps.send([self.look(group) for group in step.groups])
            except StopIteration:
                step = None
        return FabricRecord(
            hosts=self.hosts,
            started="2026-11-28T09:00:00Z",
            seconds=60,
            silent=conduct.silent,
            norms=self.norms,
            looks=tuple(conduct.looks),
        )


@pytest.fixture
def network():
    return Network
