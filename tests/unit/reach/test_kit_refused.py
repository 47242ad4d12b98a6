# SPDX-License-Identifier: Apache-2.0
"""A participant of a federation whose certificate is not valid by its host's clock does not start NVFlare."""

from datetime import timedelta

import pytest

from rekindle.federation.assignment import find_kit_flaw
from rekindle.federation.records import Participant

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("valid", "message"),
    [
        ({}, None),
        ({"begins": HOUR}, "gpu-1: The certificate of the site's kit is not valid before "),
        ({"ends": -HOUR}, "gpu-1: The certificate of the site's kit has expired at "),
    ],
)
def test_it_is_named_with_what_the_clock_says(authority, valid, message):
    kit = authority.kit("client", "gpu-1", **valid)
    mine = Participant(
        role="site",
        kit=str(kit.folder),
        address="cpu-1",
        port=8002,
        sites=("gpu-1",),
    )
    why = find_kit_flaw("gpu-1", mine)
    assert why is None if message is None else why.startswith(message) and "; this host's clock says " in why
