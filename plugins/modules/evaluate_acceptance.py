# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``evaluate_acceptance``, which runs on the controller."""

DOCUMENTATION = """
module: evaluate_acceptance
short_description: Evaluate what acceptance measured of the host's GPUs
description:
  - Writes acceptance.json and fails where the gate keeps jobs away.
options:
  folder: {description: Folder of the host's records on the controller., type: str, required: true}
  gate:
    description: Which failures keep jobs away.
    type: str
    choices: [faults, host, gpu, "off"]
    required: true
"""
