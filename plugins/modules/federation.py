# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``federation``, which runs on the controller."""

DOCUMENTATION = """
module: federation
short_description: What a federation is on its hosts; it stays up for jobs of its users, and is ended
description:
  - C(status) returns certificate, modes of keys, release, clock and what is up as C(member).
  - C(show) shows that of all hosts.
  - C(start) has NVFlare stay up on the host, and C(stop) ends it and the jobs in it.
  - C(require_down) fails where it is up.
options:
  do:
    description: What to do.
    type: str
    choices: [status, show, start, stop, require_down]
    required: true
  name: {description: Name of the federation., type: str, required: true}
  root: {description: Rekindle's folder on the host., type: str, default: ~/rekindle}
  results: {description: Folder of the results; for C(start)., type: str}
  min_sites: {description: Fewest sites; for C(start)., type: int, default: 0}
"""
