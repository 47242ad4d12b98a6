# SPDX-License-Identifier: Apache-2.0
"""Which of NVFlare's processes a command line is."""

import pytest

from rekindle.flare.processes import find_client, find_member

SERVER = "python3 -m nvflare.private.fed.app.simulator.simulator job -w workspace/pt_ddp -n 2"
CLIENT = "python3 -m nvflare.private.fed.app.simulator.simulator_worker -o w --client site-2 --token x"


@pytest.mark.parametrize(
    ("command", "name", "site"),
    [
        (SERVER, "server", None),
        (CLIENT, "site-2", "site-2"),
        ("python3 job.py --client site-1", None, None),
        ("python3 -u custom/client.py --client site-1", None, None),
        ("python3 -c nvflare.private.fed.app.simulator.simulators", None, None),
        ("", None, None),
    ],
)
def test_the_server_and_the_clients_are_known_by_their_modules(command, name, site):
    assert find_member(command.split()) == name
    assert find_client(command) == site


def test_a_client_is_known_in_a_line_with_more():
    assert find_client(f"12 of 1 sleeping 3.0 s 900 MiB do_epoll_wait {CLIENT}") == "site-2"
    assert find_client(f"{CLIENT.partition(' --client')[0]}\npython3 other.py --client site-1") is None


@pytest.mark.parametrize("end", ["", " --client"])
def test_a_client_without_a_site_is_nobodys(end):
    assert find_member(f"{CLIENT.partition(' --client')[0]}{end}".split()) is None
