# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``judge_federation``, which runs on the controller."""

DOCUMENTATION = """
module: judge_federation
short_description: Join what the hosts of a federation sent of a job, and judge it
description:
  - The verdict that counts is given on the controller, from what all hosts have.
options:
  job: {description: Name of the job., type: str, required: true}
  results: {description: Folder of the run's results on the controller., type: str, required: true}
  hosts:
    description: Hosts to which it was sent, the server's first.
    type: list
    elements: str
    required: true
"""
