# SPDX-License-Identifier: Apache-2.0
"""A forest of all sites' trees: bytes travel in arrays of integers, and scikit-learn's objects are saved."""

import pickle
from pathlib import Path

import numpy as np
from nvflare.app_common.abstract.fl_model import FLModel
from nvflare.app_common.workflows.model_controller import ModelController


class Forest(ModelController):
    def __init__(self, sites=2, rounds=2):
        super().__init__()
        self.sites, self.rounds = sites, rounds

    def run(self):
        trees = []
        for number in range(self.rounds):
            sent = np.frombuffer(pickle.dumps(trees), dtype=np.uint8)
            model = FLModel(params={"trees": sent}, current_round=number)
            results = self.send_model_and_wait(targets=self.sample_clients(self.sites), data=model)
            trees += [tree for one in results for tree in pickle.loads(one.params["trees"].tobytes())]
        with Path("forest.pkl").open("wb") as file:
            pickle.dump(trees, file)
