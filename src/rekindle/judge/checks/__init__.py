"""The checks, a module for each subject; docs/verdicts.md has what each needs and which lie shows it."""

from . import (  # noqa: F401 - each registers its checks
    acceptance,
    aggregation,
    evidence,
    exchange,
    given_gpus,
    gpu_errors,
    gpus,
    logs,
    messages,
    models,
    nodes,
    outputs,
    participation,
    processes,
    server,
    tasks,
    times,
    trackers,
    training,
)
