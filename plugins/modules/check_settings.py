# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``check_settings``, which runs on the controller."""

DOCUMENTATION = """
module: check_settings
short_description: Refuse settings that do not exist or cannot work
description:
  - The settings are read from the host's variables.
options:
  lease_ends:
    description: When the lease ends, as the user wrote it; may be empty.
    type: str
    required: true
  budget:
    description: Length of time from now on, as the user wrote it; may be empty.
    type: str
    required: true
  results: {description: Results folder of the run on the controller., type: str, required: true}
  home: {description: Folder of the host's records on the controller., type: str, required: true}
"""
