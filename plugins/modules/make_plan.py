# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``make_plan``, which runs on the controller."""

DOCUMENTATION = """
module: make_plan
short_description: Decide which build of each framework goes on the host
description:
  - Reads host.json and writes plan.json. Fails if no environment of any job can be built.
options:
  folder: {description: Folder of the host's records on the controller., type: str, required: true}
  jobs: {description: Jobs that are to run., type: list, elements: str, required: true}
  federated:
    description: Jobs that are to run over all hosts of a federation.
    type: list
    elements: str
    default: []
  frameworks:
    description: Frameworks to build for, besides those of the jobs.
    type: list
    elements: str
    required: true
  gpus_required: {description: Whether a CPU build is refused., type: bool, required: true}
  pins: {description: Framework versions to insist on., type: dict, required: true}
  system_site: {description: Whether to use the torch that the host has., type: bool, required: true}
  nvflare: {description: Release of NVFlare., type: str, required: true}
  capsule:
    description: Folder with the env.json and locks of an earlier host; empty for none.
    type: path
    required: true
  wheelhouse:
    description: Folder of wheels on the controller; empty to use the network.
    type: path
    required: true
  checkout:
    description: Checkout of NVFlare with the examples; empty for the default.
    type: str
    required: true
  accept:
    description: How GPUs are measured before jobs run.
    type: str
    choices: [short, burn, "off"]
    required: true
  last:
    description: Whether no job follows in this playbook, so that check mode reports what the jobs lack.
    type: bool
    required: true
"""
