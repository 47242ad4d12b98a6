# SPDX-License-Identifier: Apache-2.0
"""The end of a federation whose hosts went through all that the other tests of it do, which come before."""

from federations import HOSTS, root
from runners.plays import play


def test_retire_leaves_nothing_of_it(proven, members, shop):
    done = play("playbooks/retire.yml", members.inventory, proven.results, cwd=shop)
    assert done.status == 0, done.output
    for host in HOSTS:
        assert root(members, host, "ls -A /home/lease/rekindle 2>/dev/null") == ""
