# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``save_environments``, which runs on the controller."""

DOCUMENTATION = """
module: save_environments
short_description: Write env.json and its locks on the controller
description:
  - A lock counts only if it is the one that was sent.
options:
  environments:
    description: Environments as the host reported them.
    type: list
    elements: dict
    required: true
  folder: {description: Folder of the host's records on the controller., type: str, required: true}
  capsule:
    description: Folder with the env.json and locks of an earlier host; empty for none.
    type: path
    required: true
"""
