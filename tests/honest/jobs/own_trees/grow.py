# SPDX-License-Identifier: Apache-2.0
"""One site, which grows trees on its own points."""

import pickle

import numpy as np
import nvflare.client as flare
from sklearn.tree import DecisionTreeClassifier

flare.init()
chance = np.random.default_rng(int(flare.get_site_name()[-1]))
x = chance.normal(size=(200, 5))
y = (x[:, 0] > x[:, 1]).astype(int)
while flare.is_running():
    flare.receive()
    rows = chance.integers(0, len(x), (2, len(x)))
    trees = [DecisionTreeClassifier(max_depth=4).fit(x[some], y[some]) for some in rows]
    sent = np.frombuffer(pickle.dumps(trees), dtype=np.uint8)
    flare.send(flare.FLModel(params={"trees": sent}, metrics={"accuracy": trees[0].score(x, y)}))
