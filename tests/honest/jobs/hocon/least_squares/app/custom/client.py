"""One site, which fits a plane to points of its own."""

import numpy as np
import nvflare.client as flare

flare.init()
x = np.random.default_rng(sum(map(ord, flare.get_site_name()))).normal(size=(500, 3))
y = x @ np.array([1.0, -2.0, 0.5])
while flare.is_running():
    model = flare.receive()
    weights = np.array(model.params["numpy_key"], dtype=float)
    for _ in range(10):
        error = x @ weights[0] - y
        weights -= 0.1 * (error @ x) / len(x)
    print(f"error {np.square(error).mean():.5f}")
    flare.send(
        flare.FLModel(params={"numpy_key": weights}, metrics={"error": float(np.square(error).mean())})
    )
