"""Adds a step to every number; REKINDLE_LIE names a way to go wrong, at site-1 alone."""

import argparse
import os
import sys

import numpy as np
import nvflare.client as flare
from nvflare.app_common.np.constants import NPConstants

parser = argparse.ArgumentParser()
parser.add_argument("--step", type=float, default=1.0)
args = parser.parse_args()

lie = os.environ.get("REKINDLE_LIE", "")
if lie == "raises before init":
    raise RuntimeError("nothing was set up yet")
flare.init()
if flare.get_site_name() != "site-1":
    lie = ""
while flare.is_running():
    received = flare.receive()
    if received is None:
        break
    weights = np.array(received.params[NPConstants.NUMPY_KEY], dtype=float)
    wrong = {"unchanged": weights, "not a number": np.full_like(weights, np.nan)}
    params = {NPConstants.NUMPY_KEY: wrong.get(lie, weights + args.step)}
    if lie == "exits":
        sys.exit(0)
    flare.send(flare.FLModel(params=params, params_type="FULL", metrics={"mean": float(weights.mean())}))
