# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``check_verdicts``, which runs on the controller."""

DOCUMENTATION = """
module: check_verdicts
short_description: Fail if a required job of the host has not passed
description:
  - Under check, fails if a required job could not run.
options:
  folder: {description: Folder of the host's records on the controller., type: str, required: true}
  jobs: {description: Names of the planned jobs., type: list, elements: str, required: true}
"""
