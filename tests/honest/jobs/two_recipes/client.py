"""Fits a line through its site's points by gradient descent."""

import argparse
import zlib

import numpy as np
import nvflare.client as flare

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1)
args = parser.parse_args()

flare.init()
numbers = np.random.default_rng(zlib.crc32(flare.get_site_name().encode()))
x = numbers.uniform(-1, 1, 200)
y = 3 * x - 1 + numbers.normal(0, 0.1, 200)
while flare.is_running():
    received = flare.receive()
    if received is None:
        break
    ((name, weights),) = received.params.items()
    slope, offset = np.array(weights, dtype=float)
    for _ in range(20):
        error = slope * x + offset - y
        slope -= args.rate * (error * x).mean()
        offset -= args.rate * error.mean()
    loss = float((error**2).mean())
    trained = {name: np.array([slope, offset])}
    flare.send(flare.FLModel(params=trained, params_type="FULL", metrics={"loss": loss}))
