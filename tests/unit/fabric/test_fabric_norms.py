# SPDX-License-Identifier: Apache-2.0
"""Links against norms, which hosts that are right make, and against their own past."""

import pytest
from msgspec.structs import replace
from samples.fleets import accepted, kind

from rekindle.acceptance import make_norms, read_norms
from rekindle.fabric.judgement import judge_fabric
from rekindle.fabric.past import find_link_changes, make_link_records, make_right_records
from rekindle.records import PlaybookRecord, write_record
from rekindle.results.acceptance import compare_accepted
from rekindle.results.contents import HostResults, Results

MADE, LATER = "2026-11-28T10:00:00Z", "2026-11-29T10:00:00Z"


def slower(network, factor, *links, hosts=4):
    """Return the record of hosts with these links at ``factor`` of the usual rate, later than others'."""
    fabric = network(hosts)
    for one, other in links or [(a, b) for a in fabric.hosts for b in fabric.hosts if a < b]:
        fabric.set_rate(one, other, 10.0 * factor)
    return replace(fabric.survey(), started=LATER)


@pytest.fixture
def norms(network, tmp_path):
    """Return norms of a fabric whose links have 10 GB/s, as a file has them."""
    record = network(4).survey()
    write_record(tmp_path / "norms.json", make_norms(make_link_records(record, record.hosts), MADE))
    return read_norms(tmp_path / "norms.json")


def test_norms_of_links_are_of_their_transport_and_of_hosts_that_are_right(network, norms):
    assert {(norm.name, norm.value, norm.count, norm.topologies) for norm in norms.norms} == {
        (f"fabric_all_{op}", 10.0, count, ("TCP",)) for op in ("gather", "reduce") for count in (2, 4)
    }
    assert norms.norms[0].source == "your norms of 2026-11-28, by fabric: 10 to 10; the margin is Rekindle's"
    slow = slower(network, 0.1, ("h0", "h1"))
    links, together = make_link_records(slow, ["h1", "h2", "h3"])
    assert {figure.value for figure in links.measurements} == {10.0}
    assert together.measurements == ()
    links, together = make_right_records(slow, set())
    assert {(figure.gpu, figure.peer) for figure in links.measurements} == {("h2", "h3")}
    assert make_right_records(replace(slow, host="login"), {"login"}) == []


def test_a_fabric_whose_every_link_is_below_the_norm_is_one_flaw(network, norms):
    assert judge_fabric(slower(network, 0.5)) == ()
    (flaw,) = judge_fabric(replace(slower(network, 0.5), norms=norms))
    assert (flaw.kind, len(flaw.hosts), flaw.action) == ("low", 4, "RETEST")
    assert flaw.message == (
        "No pair of 6 reaches its norm: a pair has 5 GB/s at 16 MiB, where the norm is at least 9.25 "
        "(your norms of 2026-11-28, by fabric: 10 to 10; the margin is Rekindle's)."
    )
    assert judge_fabric(replace(slower(network, 0.95), norms=norms)) == ()


def test_a_norm_of_another_transport_does_not_count(network, norms):
    record = slower(network, 0.5)
    other = tuple(replace(look, transports=("InfiniBand",)) for look in record.looks)
    assert judge_fabric(replace(record, norms=norms, looks=other)) == ()


def test_half_of_the_hosts_below_the_norm_are_measured_again_and_named(network, norms):
    fabric = network(4, norms)
    for pair in (("h0", "h1"), ("h0", "h2"), ("h0", "h3")):
        fabric.set_rate(*pair, 9.0)
    assert [flaw.hosts for flaw in judge_fabric(fabric.survey())] == [("h0",)]


def of_all(network, *rates, norms=None):
    """Return the record of hosts that are as fast as these, one a look, where all work together."""
    left, fabric = [*rates], network(4, norms)

    def slow(group):
        if len(group) > 2:
            rate = left.pop(0) if len(left) > 1 else left[0]
            return {"bandwidths": tuple(replace(figure, gb_s=rate) for figure in fabric.figures)}
        return None

    fabric.faults.append(slow)
    return replace(fabric.survey(), started=LATER)


MOVED = "fabric_all_reduce"


def changes(*records):
    found = find_link_changes(records)
    return [(flaw.host, flaw.verdict, flaw.measurement) for flaws in found.values() for flaw in flaws]


@pytest.mark.parametrize(("factor", "found"), [(0.92, 0), (1.3, 0), (0.88, 2)])
def test_a_link_that_got_worse_than_it_was_fails_at_both_ends(network, factor, found):
    then = network(4).survey()
    now = slower(network, factor, ("h1", "h2"))
    expected = [("h1", "FAIL", "fabric_all_reduce"), ("h2", "FAIL", "fabric_all_reduce")]
    assert changes(now, then) == expected[:found]
    assert changes(now) == []


def test_a_host_all_of_whose_links_got_worse_is_named_alone(network):
    then, now = network(4).survey(), slower(network, 0.5, ("h0", "h1"), ("h0", "h2"), ("h0", "h3"))
    found = find_link_changes([then, now])
    (flaw,) = found["h0"]
    assert [*found.values()] == [[flaw], [], [], []]
    assert "50.0% worse than the 10 of 2026-11-28T09:00:00Z" in flaw.message
    assert flaw.message.endswith("So are 3 links of h0 in all.")


def test_rekindle_accept_judges_links_by_their_past(network):
    playbook = PlaybookRecord(run="r", started=MADE, hosts=("h0", "h1"))
    then, now = network(4).survey(), slower(network, 0.5, ("h0", "h1"))
    hosts = tuple(HostResults(name, None, None, None, (), accepted(name, kind(4))) for name in now.hosts)
    acceptance, _ = compare_accepted([Results(playbook, hosts, (then,)), Results(playbook, (), (now,))], [])
    assert [(of.host, of.verdict, of.action) for of in acceptance.hosts] == [
        ("h0", "FAIL", "RETEST"),
        ("h1", "FAIL", "RETEST"),
        ("h2", "PASS", "NONE"),
        ("h3", "PASS", "NONE"),
    ]
    assert "h0 to h1 at 16 MiB: fabric_all_" in acceptance.hosts[0].cause


def test_a_link_that_was_looked_at_once_is_noted(network):
    then, now = network(2).survey(), slower(network, 0.5, hosts=2)
    assert changes(then, now) == [("h0", None, MOVED), ("h1", None, MOVED)]


def test_all_together_below_their_norm_are_looked_at_twice_and_named_where_each_pair_is_right(network, norms):
    assert judge_fabric(of_all(network, 10.0, norms=norms)) == ()
    assert judge_fabric(of_all(network, 9.0)) == ()
    assert judge_fabric(of_all(network, 9.0, 10.0, norms=norms)) == ()
    (flaw,) = judge_fabric(of_all(network, 9.0, norms=norms))
    assert (flaw.hosts, flaw.kind, flaw.verdict) == (("h0", "h1", "h2", "h3"), "low", "FAIL")
    assert flaw.message.startswith("h0, h1, h2, h3 together has 9 GB/s at 16 MiB, where the norm is at least")
    assert flaw.message.endswith(", in each of 2 looks.")


def test_all_together_that_got_slower_fail_by_their_past(network):
    then = replace(of_all(network, 10.0), started=MADE)
    assert changes(then, of_all(network, 9.5)) == changes(then, of_all(network, 8.0, 10.0)) == []
    assert changes(then, of_all(network, 8.0)) == [(host, "FAIL", MOVED) for host in then.hosts]
    others = replace(then, hosts=("h0", "h1", "h2", "h9"), looks=())
    assert changes(others, of_all(network, 8.0)) == []


def test_nodes_have_the_past_of_their_own_cluster(network):
    then, now = network(4).survey(), slower(network, 0.5)
    of = [replace(record, host=host) for record, host in ((then, "one"), (now, "one"), (now, "other"))]
    assert changes(of[0], of[2]) == []
    found = changes(*of)
    assert {host for host, _, _ in found} == {"one"}
    playbook = PlaybookRecord(run="r", started=MADE, hosts=("one",))
    acceptance, _ = compare_accepted([Results(playbook, (), (record,)) for record in of], [])
    assert [(judged.host, judged.verdict) for judged in acceptance.hosts] == [("one", "FAIL")]
