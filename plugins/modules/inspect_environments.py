# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``inspect_environments``, which runs on the controller."""

DOCUMENTATION = """
module: inspect_environments
short_description: Report which planned environments the host has
description:
  - Changes nothing on the host. Writes env.json if all stand as they were built, and else returns C(specs).
  - In check mode it writes standing.json, by what is there.
options:
  folder: {description: Folder of the host's records on the controller., type: str, required: true}
  wheelhouse:
    description: Folder of wheels on the controller; empty to use the network.
    type: path
    required: true
  capsule:
    description: Folder with the env.json and locks of an earlier host; empty for none.
    type: path
    required: true
"""
