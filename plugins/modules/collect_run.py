# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``collect_run``, which runs on the controller."""

DOCUMENTATION = """
module: collect_run
short_description: Copy a job's run to the controller and judge it there
description:
  - The verdict that counts is given on the controller, from the run's files.
options:
  job: {description: Name of the job., type: str, required: true}
  python: {description: Python on the host that packs the run., type: str, required: true}
  federated: {description: Whether it is this host's part of a federation's run., type: bool, default: false}
  home: {description: Folder of the host's records on the controller., type: str, required: true}
"""
