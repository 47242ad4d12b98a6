# SPDX-License-Identifier: Apache-2.0
"""Ports of a fabric's hosts: what the kernel has of them, and what is said of one unlike its fellows."""

import pytest
from msgspec.structs import replace

from rekindle.fabric.judgement import judge_fabric
from rekindle.fabric.verdicts import judge_hosts
from rekindle.host.ports import list_ports, watch_ports
from rekindle.records.base import convert_builtins
from rekindle.records.fabric import Port


def write(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")


@pytest.fixture
def classes(tmp_path):
    """Return a /sys/class with one InfiniBand and one Ethernet port, and a virtual one."""
    port = tmp_path / "infiniband/mlx5_0/ports/1"
    write(
        port, state="4: ACTIVE", phys_state="5: LinkUp", link_layer="InfiniBand", rate="400 Gb/sec (4X NDR)"
    )
    write(port, counters__symbol_error=3, counters__link_downed=1, hw_counters__packet_seq_err=0)
    write(tmp_path / "net/eth0", speed=25000, operstate="up", carrier_changes=2, statistics__rx_errors=0)
    write(tmp_path / "net/eth0/device", vendor="0x15b3")
    write(tmp_path / "net/lo", operstate="unknown", carrier_changes=0)
    return tmp_path


def test_ports_are_read_with_rate_state_and_counters(classes):
    infiniband, ethernet = list_ports(classes)
    assert tuple(infiniband.values())[:5] == ("mlx5_0/1", "InfiniBand", "ACTIVE", "LinkUp", 400.0)
    assert infiniband["counts"] == {"link_downed": 1, "symbol_error": 3, "packet_seq_err": 0}
    assert tuple(ethernet.values())[:5] == ("eth0", "Ethernet", "up", "", 25.0)
    write(classes / "net/eth0", speed=-1, operstate="down")
    assert tuple(list_ports(classes)[1].values())[2:5] == ("down", "", None)
    assert list_ports(classes / "missing") == []


def test_what_grew_while_it_was_measured_is_sent_alone(classes):
    began = list_ports(classes)
    assert [port["grew"] for port in watch_ports(began, classes)] == [{}, {}]
    write(classes / "infiniband/mlx5_0/ports/1", counters__symbol_error=10)
    write(classes / "net/eth0", carrier_changes=4)
    sent = [convert_builtins(port, Port) for port in watch_ports(began, classes)]
    assert [port.grew for port in sent] == [{"symbol_error": 7}, {"carrier_changes": 2}]


def measured(network, hosts, **ports):
    """Return the record of hosts whose port has 400 Gbit/s, but for those in ``ports``."""
    usual = Port(name="mlx5_0/1", state="ACTIVE", gbit_s=400.0)
    record = network(hosts).survey()
    return replace(record, ports={host: (ports.get(host, usual),) for host in record.hosts})


def test_a_port_that_is_slower_than_its_fellows_is_named(network):
    slow = Port(name="mlx5_0/1", state="ACTIVE", gbit_s=100.0)
    record = measured(network, 8, h3=slow)
    (flaw,) = judge_fabric(record)
    assert (flaw.hosts, flaw.kind, flaw.verdict, flaw.action) == (("h3",), "port", "FAIL", "RETEST")
    assert "port mlx5_0/1 is ACTIVE at 100 Gbit/s, and most hosts' have 400" in flaw.message
    failed = [verdict.host for verdict in judge_hosts(record) if verdict.verdict == "FAIL"]
    assert failed == ["h3"]


def test_a_fleet_of_two_kinds_of_ports_and_a_pair_of_hosts_are_left_alone(network):
    slow = Port(name="mlx5_0/1", state="ACTIVE", gbit_s=100.0)
    assert judge_fabric(measured(network, 8)) == ()
    assert judge_fabric(measured(network, 4, h0=slow, h1=slow)) == ()
    assert judge_fabric(measured(network, 2, h0=slow)) == ()


def test_a_link_that_came_or_went_fails_and_errors_are_noted_beside_the_host(network):
    grew = {"link_downed": 1, "symbol_error": 12}
    record = measured(network, 4, h1=Port(name="mlx5_0/1", state="ACTIVE", gbit_s=400.0, grew=grew))
    flap, errors = judge_fabric(record)
    assert (flap.verdict, errors.verdict) == ("FAIL", None)
    assert "a link came or went while it was measured: mlx5_0/1 1 link_downed" in flap.message
    assert "counted errors while it was measured: mlx5_0/1 12 symbol_error" in errors.message


def test_what_a_port_says_of_itself_is_no_sentence_of_ours(network):
    evil = Port(name="a\nFix: rm -rf /", state="x" * 1000, gbit_s=1.0, grew={"link_downed": 1})
    for flaw in judge_fabric(measured(network, 8, h1=evil)):
        assert "\n" not in flaw.message
        assert len(flaw.message) <= 500
