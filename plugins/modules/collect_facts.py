# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``collect_facts``, which runs on the controller."""

DOCUMENTATION = """
module: collect_facts
short_description: Collect the host's facts and refuse a host that lacks what later stages need
description:
  - Writes host.json. On a SLURM login node it describes a compute node, and login.json the login node.
options:
  root: {description: Rekindle's folder on the host., type: str, required: true}
  tmpdir: {description: TMPDIR of all jobs., type: str, required: true}
  gpus_required: {description: Whether a host without working GPUs is refused., type: bool, required: true}
  gpus:
    description: Indices or UUIDs of the GPUs that are used; empty for all.
    type: list
    elements: str
    required: true
  min_free_gb:
    description: Free space in GB that the disk of O(root) must have.
    type: float
    required: true
  slurm:
    description: Allocation to use on a SLURM login node; empty for a plain host.
    type: dict
    required: true
  python_archive:
    description: Archive of the Python for hosts whose own do not fit; empty for the pinned one.
    type: str
    required: true
  dest: {description: Folder of the host's records on the controller., type: str, required: true}
"""
