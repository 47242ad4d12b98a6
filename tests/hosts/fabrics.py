# SPDX-License-Identifier: Apache-2.0
"""Hosts whose fabric is measured: what they need for it, and some whose torch is broken."""

from contextlib import contextmanager

from lab import network
from lab.wheels import fill_wheelhouse

TORCH = ("-e", '{"rekindle_fabric": true, "rekindle_jobs": [], "rekindle_frameworks": ["torch"]}')
BROKEN = """
import sys
if "play" in sys.orig_argv:
    import time
    import torch.distributed as dist
    real = dist.all_reduce
    def all_reduce(values, *more, **named):
        if values.numel() > 1000:
            {fault}
        return real(values, *more, **named)
    dist.all_reduce = all_reduce
"""
"""Loaded by each Python of a host; a broken host's part in the first all-reduce of many values."""


@contextmanager
def shaped(lab, names):
    """Have a lab of these hosts, with what they need for it and a rate on the ways to each other."""
    try:
        lab.up(names)
        fill_wheelhouse(lab, *TORCH)
        network.shape_ways(lab.number, len(names), slow=(), lossy=())
        yield lab
    finally:
        lab.down()


@contextmanager
def broken(lab, **faults):
    """Have torch on these hosts do something else: their own Python loads it."""
    paths = [lab.hosts[host].root / "usr/lib/python3.11/sitecustomize.py" for host in faults]
    for path, fault in zip(paths, faults.values(), strict=True):
        path.rename(path.with_suffix(".aside"))
        path.write_text(BROKEN.format(fault=fault))
        path.chmod(0o644)
    try:
        yield
    finally:
        for path in paths:
            path.with_suffix(".aside").replace(path)
