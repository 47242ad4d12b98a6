# SPDX-License-Identifier: Apache-2.0
"""One site, with NumPy alone."""

import numpy as np
import nvflare.client as flare

flare.init()
chance = np.random.default_rng(int(flare.get_site_name()[-1]))
x = chance.normal(size=(300, 40))
y = x @ np.linspace(-1, 1, 40) + 0.1 * chance.normal(size=300)
while flare.is_running():
    received = flare.receive()
    weights, offset = received.params["weights"].copy(), received.params["offset"].copy()
    for _ in range(15):
        error = x @ weights + offset - y
        weights -= 0.05 * x.T @ error / len(x)
        offset -= 0.05 * error.mean()
    loss = float(np.square(error).mean())
    print(f"loss {loss:.4f}")
    flare.send(flare.FLModel(params={"weights": weights, "offset": offset}, metrics={"loss": loss}))
