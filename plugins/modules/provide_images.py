# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``provide_images``, which runs on the controller."""

DOCUMENTATION = """
module: provide_images
short_description: Load or pull the container images that planned jobs run in
description:
  - An image that the host has already is left alone.
options:
  folder: {description: Folder of the host's records on the controller., type: str, required: true}
  wheelhouse:
    description: Folder of wheels on the controller; empty to use the network.
    type: path
    required: true
"""
