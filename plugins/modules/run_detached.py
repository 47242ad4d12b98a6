# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``run_detached``, which runs on the controller."""

DOCUMENTATION = """
module: run_detached
short_description: Start work on the host that survives the connection, and follow it
description:
  - Work that runs already is followed and not started again.
options:
  start:
    description: Command that starts the work unless it runs; without, it is only followed.
    type: list
    elements: str
    default: []
  stdin: {description: Standard input of the command., type: str, default: ""}
  progress: {description: Path of the progress record on the host., type: str, required: true}
  lock: {description: File on the host that is locked while the work goes on., type: str, required: true}
  python: {description: Python on the host., type: str, required: true}
  payload: {description: The payload's path on the host., type: str, required: true}
  what: {description: "Name of the work, for messages.", type: str, required: true}
  limit_s: {description: Seconds after which the work is given up., type: int, required: true}
  until:
    description: >-
      C(started) follows nothing, and C(ended) to its end. C(runs) waits until SLURM has given it nodes, at
      most a day, and until C(needs_s) are left of the host's lease; then it leaves the queue.
    type: str
    choices: [started, runs, ended]
    default: ended
  needs_s: {description: Seconds that the work takes once it has its nodes., type: int, default: 0}
  reconnect_s:
    description: Seconds for which a host that is out of reach is awaited, at most until its lease ends.
    type: int
    default: 300
  home: {description: Folder of the host's records on the controller., type: str, required: true}
"""
