"""Documentation of the action ``inspect_environments``, which runs on the controller."""

DOCUMENTATION = """
module: inspect_environments
short_description: Report which planned environments the host has
description:
  - For check mode; changes nothing.
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
