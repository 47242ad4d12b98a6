# SPDX-License-Identifier: Apache-2.0
"""What a job's job.py and client.py import in the framework's own environment.

Only the standard library is imported here, so that a trainer pays nothing for it and any
framework version goes with it; ``ddp`` and ``weights`` are for those who have torch.
"""

# ruff: noqa: F401

from .arrays import fingerprint_weights
from .evidence import Evidence
from .guard import install_guard
from .ranks import GLOBAL_RANK, LOCAL_RANK, NODES, WORLD_SIZE, follow_rank_zero, take_turn
from .sites import SITE, Sites, make_parser
