# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``copy_payload``, which runs on the controller."""

DOCUMENTATION = """
module: copy_payload
short_description: Copy Rekindle's own code and the jobs to the host, in one file
description:
  - Nothing is transferred if the host has the same file.
  - A Python is copied first if the plan needs one that the host lacks.
options:
  root: {description: Rekindle's folder on the host., type: str, required: true}
  results: {description: Results folder of the run on the controller., type: str, required: true}
  home: {description: Folder of the host's records on the controller., type: str, required: true}
  wheelhouse:
    description: Folder that may have the archive of that Python; empty for none.
    type: str
    required: true
  checkout:
    description: Checkout of NVFlare, whose examples are added if one is planned; empty for the default.
    type: str
    required: true
"""
