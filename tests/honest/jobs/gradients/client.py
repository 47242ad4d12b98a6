# SPDX-License-Identifier: Apache-2.0
"""The gradient of a softmax regression; its type is FLModel's default, as of a model."""

import numpy as np
import nvflare.client as flare
from sklearn.datasets import load_digits

flare.init()
x, y = load_digits(return_X_y=True)
x, y = (x[:700] / 16, y[:700]) if flare.get_site_name() == "site-1" else (x[700:] / 16, y[700:])
while flare.is_running():
    received = flare.receive()
    scores = x @ received.params["weights"] + received.params["bias"]
    odds = np.exp(scores - scores.max(1, keepdims=True))
    odds /= odds.sum(1, keepdims=True)
    loss = float(-np.log(odds[range(len(y)), y]).mean())
    print(f"round {received.current_round}: loss {loss:.4f}")
    odds[range(len(y)), y] -= 1
    gradient = {"weights": x.T @ odds / len(y), "bias": odds.mean(0)}
    flare.send(flare.FLModel(params=gradient, metrics={"loss": loss}, meta={"samples": len(y)}))
