# SPDX-License-Identifier: Apache-2.0
"""The first federated algorithm: each site sends its gradient, and the server takes the step."""

import numpy as np
from nvflare.app_common.abstract.fl_model import FLModel
from nvflare.app_common.workflows.model_controller import ModelController


class Descent(ModelController):
    def __init__(self, num_rounds, rate):
        super().__init__()
        self.num_rounds, self.rate = num_rounds, rate

    def run(self):
        params = {"weights": np.random.default_rng(0).normal(0, 0.1, (64, 10)), "bias": np.zeros(10)}
        for number in range(self.num_rounds):
            model = FLModel(params=params, current_round=number, total_rounds=self.num_rounds)
            results = self.send_model_and_wait(targets=self.sample_clients(2), data=model)
            total = sum(one.meta["samples"] for one in results)
            for one in results:
                share = self.rate * one.meta["samples"] / total
                params = {name: value - share * one.params[name] for name, value in params.items()}
        np.savez(f"{self.get_run_dir()}/model.npz", **params)
