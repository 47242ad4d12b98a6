# SPDX-License-Identifier: Apache-2.0
"""InfiniBand ports, as the kernel reports them."""

from importlib import import_module

import msgspec
import pytest
from msgspec.structs import replace
from samples.fleets import accepted, edited, kind

from rekindle.acceptance import compare_hosts, evaluate_figures, judge_acceptance
from rekindle.records import Measurement

ACTIVE = ("4: ACTIVE", "5: LinkUp")
NO_CABLE = ("1: DOWN", "2: Polling")
SWITCHED_OFF = ("1: DOWN", "3: Disabled")
NO_SUBNET_MANAGER = ("2: INIT", "5: LinkUp")


@pytest.fixture
def measured(job_code, tmp_path):
    """Return a function that measures ports, which are given by device with their states."""

    def measure(layer="InfiniBand", **ports):
        for device, (state, link) in ports.items():
            port = tmp_path / "infiniband" / device / "ports" / "1"
            port.mkdir(parents=True)
            for name, content in (("state", state), ("phys_state", link), ("link_layer", layer)):
                (port / name).write_text(f"{content}\n")
        return import_module("ports").measure(tmp_path)

    return measure


def verdict(found, host="gpu-1"):
    """Return what holds of a healthy host with these figures beside its own."""
    host = accepted(host, kind(4))
    figures = (msgspec.convert(figure, Measurement) for figure in found)
    return judge_acceptance(evaluate_figures(replace(host, measurements=(*host.measurements, *figures))))


def test_ports_that_are_active_hold(measured):
    found = measured(mlx5_0=ACTIVE, mlx5_1=ACTIVE)
    assert (found[0]["value"], found[0]["norm"], found[0]["message"]) == (0, 0, "of 2 InfiniBand ports")
    assert verdict(found).verdict == "PASS"


def test_a_link_that_leads_nowhere_fails_and_is_named(measured):
    found = measured(mlx5_0=ACTIVE, mlx5_1=NO_SUBNET_MANAGER, mlx5_2=NO_CABLE)
    judgement = verdict(found)
    assert (judgement.verdict, judgement.flaws[0].measurement) == ("FAIL", "infiniband_ports_down")
    assert "mlx5_1/1 is INIT (LinkUp), mlx5_2/1 is DOWN (Polling)" in found[0]["message"]


def test_a_port_without_a_cable_is_no_fault_of_a_host_alone_and_one_beside_others_that_have_it(measured):
    found = measured(mlx5_0=ACTIVE, mlx5_1=NO_CABLE, mlx5_2=SWITCHED_OFF)
    assert verdict(found).verdict == "PASS"
    fleet = [
        replace(record, measurements=(*record.measurements, msgspec.convert(found[0], Measurement)))
        for record in (accepted(f"gpu-{n}", kind(4)) for n in range(5))
    ]
    assert not compare_hosts(map(evaluate_figures, fleet)).flaws
    fleet[3] = edited(fleet[3], "infiniband_ports_down", lambda _: {"value": 3.0, "norm": 3.0})
    (flaw,) = compare_hosts(map(evaluate_figures, fleet)).flaws
    assert (flaw.host, flaw.measurement) == ("gpu-3", "infiniband_ports_down")


def test_hosts_without_infiniband_and_ports_for_ethernet_are_not_measured(measured):
    assert measured() == []
    assert measured("Ethernet", mlx5_0=NO_CABLE, mlx5_1=SWITCHED_OFF) == []
