# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``survey_fabric``, which runs on the controller."""

DOCUMENTATION = """
module: survey_fabric
short_description: Prepare, collect and judge a measurement of what is between hosts
description:
  - The hosts measure by themselves. The verdicts that count are given on the controller, from what they sent.
options:
  do:
    description: >-
      C(prepare) returns each host's part. C(collect) fetches fabric.json from the first host, and C(judge)
      writes the verdicts.
    type: str
    choices: [prepare, collect, judge]
    required: true
  results: {description: Folder of the run's results on the controller., type: str, required: true}
  hosts:
    description: Hosts that are measured, the one first that conducts.
    type: list
    elements: str
    required: true
  nodes: {description: "In its allocation, of which it collects; 0 without one.", type: int, default: 0}
  port: {description: "Of the first host; the 500 after it are used on each.", type: int, default: 0}
  norms: {description: Path of the inventory's norms on the controller., type: str, default: ""}
  folder: {description: Of the measurement on the first host., type: str, default: ""}
"""
