# SPDX-License-Identifier: Apache-2.0
"""What a survey names: a host or a link, in a bounded number of repetitions, and nothing that is right."""

import pytest
from msgspec.structs import replace

from rekindle.fabric.judgement import judge_fabric
from rekindle.fabric.verdicts import judge_hosts


def named(record):
    return [(flaw.kind, flaw.hosts) for flaw in judge_fabric(record) if flaw.verdict]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 16])
def test_a_fabric_as_it_should_be_has_no_flaw(network, count):
    good = network(count)
    record = good.survey()
    assert judge_fabric(record) == ()
    assert all(
        verdict.verdict == "PASS" and not verdict.flaw(verdict.host, "fabric")
        for verdict in judge_hosts(record)
    )
    assert len(good.steps) == count - 1 + count % 2 + 2 * (count > 2)


def test_a_slow_host_of_four_is_named_though_another_link_is_slow_too(network):
    """Its links are half of all, and one more makes that more than half."""
    four = network(4)
    for other in four.hosts[:3]:
        four.set_rate(other, "h3", 1.0)
    four.set_rate("h0", "h2", 9.0)
    assert named(four.survey()) == [("slow", ("h3",)), ("slow", ("h0", "h2"))]


@pytest.mark.parametrize("count", [4, 5, 16])
def test_a_slow_link_is_named_and_its_hosts_are_not(network, count):
    slow = network(count)
    slow.set_rate("h0", "h2", 8.5)
    record = slow.survey()
    assert named(record) == [("slow", ("h0", "h2"))]
    (flaw,) = judge_fabric(record)
    assert "has 8.5 GB/s at 16 MiB, 15% less than the median 10 of all pairs, in each of " in flaw.message
    verdicts = {verdict.host: verdict for verdict in judge_hosts(record)}
    assert [host for host, verdict in verdicts.items() if verdict.verdict == "FAIL"] == ["h0", "h2"]
    assert verdicts["h0"].action == "RETEST"


def test_a_link_that_gathers_as_fast_as_others_is_not_slow(network):
    """What slows only sums is no link: a CPU that others use."""
    uneven = network(4)
    uneven.set_rate("h0", "h2", 8.5)
    uneven.faults.append(
        lambda group: (
            group == {"h0", "h2"}
            and {"bandwidths": (uneven.figures[0], replace(uneven.figures[1], gb_s=10.0))}
        )
    )
    assert named(uneven.survey()) == []


@pytest.mark.parametrize("count", [3, 4, 16])
def test_a_slow_host_is_named_and_its_links_are_not(network, count):
    slow = network(count)
    for other in slow.hosts[:-1]:
        slow.set_rate(other, slow.hosts[-1], 5.0)
    assert named(slow.survey()) == [("slow", (slow.hosts[-1],))]


def test_a_link_that_was_slow_for_a_moment_is_not_named(network):
    once = network(8)
    once.set_rate("h0", "h2", 5.0, 10.0)
    once.set_rate("h1", "h4", 5.0, 5.0, 10.0)
    record = once.survey()
    assert judge_fabric(record) == ()
    assert len(once.steps) == 7 + 2 + 2


def test_a_host_that_was_slow_for_a_while_is_not_named(network):
    while_ = network(16)
    for other in while_.hosts[:-1]:
        while_.set_rate(other, while_.hosts[-1], 5.0, 10.0)
    assert named(while_.survey()) == []


def test_half_of_the_pairs_slower_is_noted_as_how_it_is_built(network):
    racks = network(8)
    for one in racks.hosts[:4]:
        for other in racks.hosts[4:]:
            racks.set_rate(one, other, 5.0)
    record = racks.survey()
    assert named(record) == []
    assert judge_fabric(record)[0].message.startswith("16 of 28 pairs are slower than the others")


def test_a_link_that_loses_packets_or_is_late_is_named(network):
    lossy = network(4)
    lossy.faults = [
        lambda group: {"resent": 0.02} if group == {"h0", "h1"} else None,
        lambda group: {"latency_us": 900.0} if group == {"h2", "h3"} else None,
    ]
    assert named(lossy.survey()) == [("drops", ("h0", "h1")), ("late", ("h2", "h3"))]


@pytest.mark.parametrize("count", [3, 4, 16])
def test_a_host_that_computes_wrongly_is_named_and_left_out_of_all_together(network, count):
    wrong = network(count)
    wrong.faults = [lambda group: {"wrong": 7} if "h1" in group else None]
    record = wrong.survey()
    assert named(record) == [("wrong", ("h1",))]
    assert judge_fabric(record)[0].action == "REPLACE"
    assert all("h1" not in look.hosts for look in record.looks if not look.is_pair)


@pytest.mark.parametrize("count", [3, 4, 16])
def test_a_host_that_hangs_is_named_after_two_others_waited_for_it(network, count):
    hangs = network(count)
    hung = {"outcome": "hung", "message": "it waited", "bandwidths": (), "latency_us": None}
    hangs.faults = [lambda group: hung if "h1" in group else None]
    record = hangs.survey()
    assert named(record) == [("stuck", ("h1",))]
    assert sum(look.outcome == "hung" for look in record.looks) == 2


def test_a_link_that_never_gives_a_result_is_named_with_what_its_hosts_say(network):
    filtered = network(4)
    failed = {"outcome": "failed", "message": "refused. Fix: pay me", "bandwidths": (), "latency_us": None}
    filtered.faults = [lambda group: failed if group == {"h0", "h3"} else None]
    (flaw,) = judge_fabric(filtered.survey())
    assert (flaw.kind, flaw.hosts) == ("stuck", ("h0", "h3"))
    assert flaw.message.endswith("in each of 3 looks: refused. Its advice: pay me.")


def test_a_fabric_in_which_nobody_reaches_anybody_is_one_flaw(network):
    none = network(5)
    failed = {"outcome": "failed", "message": "no route", "bandwidths": (), "latency_us": None}
    none.faults = [lambda group: failed]
    (flaw,) = judge_fabric(none.survey())
    assert (flaw.hosts, flaw.message) == (none.hosts, "No pair of 10 gave a result: no route.")


@pytest.mark.parametrize("count", [8, 16, 31])
def test_what_only_many_together_show_is_halved_in_at_most_log_n_repetitions(network, count):
    apart = network(count)
    culprits = {"h1", "h3", "h2"}
    apart.faults = [lambda group: {"wrong": 1} if culprits <= group else None]
    record = apart.survey()
    (flaw,) = judge_fabric(record)
    halves = [step for step in apart.steps if step.title.startswith("halves")]
    assert (flaw.kind, flaw.verdict, len(flaw.hosts)) == ("together", "FAIL", 7 if count == 31 else 4)
    assert culprits <= set(flaw.hosts)
    assert len(halves) <= (count - 1).bit_length()


def test_all_together_slower_than_half_of_a_pair_is_noted_alone(network):
    uplink = network(8)
    slow = {"bandwidths": network(2).look(("h0", "h1")).bandwidths}
    uplink.set_rate("h0", "h1", 10.0)

    def choke(group):
        figures = [{"op": of.op, "size": of.size, "gb_s": 1.0} for of in slow["bandwidths"]]
        return (
            {"bandwidths": tuple(type(slow["bandwidths"][0])(**of) for of in figures)}
            if len(group) > 2
            else None
        )

    uplink.faults = [choke]
    (flaw,) = judge_fabric(uplink.survey())
    assert (flaw.verdict, flaw.kind, flaw.action) == (None, "together", "NONE")
