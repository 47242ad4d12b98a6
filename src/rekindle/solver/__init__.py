# SPDX-License-Identifier: Apache-2.0
"""Which build of each framework goes on a host, and why; or which axis refuses, and the ways out.

A pure function of the host record and of the catalogue beside it.
"""

from .plan import solve_plan

__all__ = ["solve_plan"]
