# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``place_job``, which runs on the controller."""

DOCUMENTATION = """
module: place_job
short_description: Decide on which GPUs a job's sites run, and return its specification
description:
  - Returns nothing for a job that cannot run (see its verdict).
options:
  folder: {description: Folder of the host's records on the controller., type: str, required: true}
  job: {description: Name of the job., type: str, required: true}
  tmpdir: {description: TMPDIR of the job., type: str, required: true}
  arguments: {description: "Options of job.py, by job.", type: dict, required: true}
  sizes: {description: "Sites, ranks, rounds and limit, by job.", type: dict, required: true}
  payload: {description: The payload's path on the host., type: str, required: true}
  python: {description: The driver's Python on the host., type: str, required: true}
  rerun: {description: Whether to run a job that has passed., type: bool, required: true}
  max_age: {description: How old a PASS may be that is kept; empty for any age., type: str, required: true}
  checkout: {description: Checkout of NVFlare; empty for the default., type: str, required: true}
  norms: {description: "File with norms, for a job that measures; empty for none.", type: str, default: ""}
  server:
    description: Host of the server, for a job over all hosts of a federation; empty for one on this host.
    type: str
    default: ""
  sites:
    description: Hosts of the federation's sites.
    type: list
    elements: str
    default: []
  min_sites: {description: Fewest sites; 0 for all., type: int, default: 0}
  gate:
    description: Which failures of acceptance keep jobs away.
    type: str
    choices: [faults, host, gpu, "off"]
    required: true
"""
