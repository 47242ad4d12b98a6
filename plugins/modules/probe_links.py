# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``probe_links``, which runs on the controller."""

DOCUMENTATION = """
module: probe_links
short_description: See whether a federation's site reaches its server, and how fast, before anything starts
description:
  - A listener on the server's host stands in for NVFlare's server, with its kit and on its port.
  - Sites try name, route, port, TLS, clock, release of NVFlare and bandwidth.
options:
  do:
    description: C(listen) and C(end) on the server's host; C(probe) on a site, which writes link.json.
    type: str
    choices: [listen, probe, end]
    required: true
  kit: {description: Folder of the kit on the host., type: str, required: true}
  python: {description: Python of an environment with NVFlare on the host., type: str, required: true}
  payload: {description: The payload's path on the host., type: str, required: true}
  address: {description: "Of the server, as sites reach it.", type: str, required: true}
  port: {description: Of the server., type: int, required: true}
  release: {description: Planned release of NVFlare; empty for any that both have., type: str, default: ""}
  home: {description: Folder of the host's records on the controller., type: str, required: true}
  limit_s:
    description: Seconds that the listener stays, and that a site waits for others to be measured.
    type: int
    default: 120
"""
