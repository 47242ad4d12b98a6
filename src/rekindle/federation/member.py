# SPDX-License-Identifier: Apache-2.0
"""What this host is in its federation, as NVFlare's processes are told. Standard library alone."""

import json
import os
from collections.abc import Mapping
from typing import Any

from rekindle.trainer.variables import MEMBER


def read_member() -> dict[str, Any]:
    """Return it by name, as `merge_member` does."""
    return merge_member(json.loads(os.environ[MEMBER]))


def merge_member(member: Mapping[str, Any]) -> dict[str, Any]:
    """Return a RunMember with what the room knows of it, a Participant and Transfers, all in one table."""
    return {**member, **member["given"], **member["measured"]}
