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
  follow: {description: Whether it is followed to its end., type: bool, default: true}
  reconnect_s:
    description: Seconds for which a host that is out of reach is awaited, at most until its lease ends.
    type: int
    default: 300
  home: {description: Folder of the host's records on the controller., type: str, required: true}
"""
