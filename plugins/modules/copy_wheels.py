# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``copy_wheels``, which runs on the controller."""

DOCUMENTATION = """
module: copy_wheels
short_description: Copy the wheels that the plan needs to a host without a network
description:
  - A wheel that is missing or altered is named.
options:
  wheelhouse:
    description: Folder of wheels on the controller; empty to use the network.
    type: path
    required: true
  folder: {description: Folder of the host's records on the controller., type: str, required: true}
  capsule:
    description: Folder with the env.json and locks of an earlier host; empty for none.
    type: path
    required: true
"""
