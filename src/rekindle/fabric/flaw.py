# SPDX-License-Identifier: Apache-2.0
"""What is wrong with one host of a fabric, the link of two, or what joins more."""

from typing import Literal

import msgspec

from rekindle.records.action import Action

from .pairs import Kind


class FabricFlaw(msgspec.Struct, kw_only=True, frozen=True):
    """One of them."""

    hosts: tuple[str, ...]
    kind: Literal[Kind, "silent", "port", "together"]
    verdict: Literal["FAIL"] | None = "FAIL"
    """None: it is noted, and changes nothing."""
    message: str
    remedy: str
    action: Action
