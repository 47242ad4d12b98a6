# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``provision_kit``, which runs on the controller."""

DOCUMENTATION = """
module: provision_kit
short_description: Provide a host with its certificate in a federation, by NVFlare's own provisioning
description:
  - Since NVFlare 2.8 the host makes its own key, which never leaves it.
  - The authority's key stays on the controller. It is for one results folder and its list of hosts.
  - A kit that is valid until the lease ends stays; of another, the certificate is replaced.
options:
  federation: {description: Name of the federation., type: str, required: true}
  role: {description: What the host is., type: str, choices: [server, site], required: true}
  site: {description: Name of the site., type: str, required: true}
  hosts: {description: All hosts of the federation., type: list, elements: str, required: true}
  address: {description: Address of the server as sites reach it., type: str, required: true}
  port: {description: Port of the server., type: int, required: true}
  scheme: {description: What NVFlare talks over., type: str, choices: [tcp, http, grpc], required: true}
  python: {description: Python of an environment with NVFlare on the host., type: str, required: true}
  wheelhouse:
    description: Folder of wheels on the controller; empty to use the network.
    type: str
    required: true
  payload: {description: Folder of Rekindle's own code on the host., type: str, required: true}
  home: {description: Folder of the host's records on the controller., type: str, required: true}
"""
