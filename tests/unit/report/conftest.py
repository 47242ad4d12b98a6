# SPDX-License-Identifier: Apache-2.0
"""Results of many hosts, made once."""

import pytest
from samples.many_hosts import many_hosts


@pytest.fixture(scope="session")
def forty(tmp_path_factory):
    """Return the results of 40 hosts, which nobody changes."""
    return many_hosts(tmp_path_factory.mktemp("run"), 40)
