# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``write_reports``, which runs on the controller."""

DOCUMENTATION = """
module: write_reports
short_description: Write the HTML, JSON and JUnit reports of the run
description:
  - Runs on the controller.
options:
  folder: {description: Results folder of the run., type: str, required: true}
"""
