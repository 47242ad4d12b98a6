# SPDX-License-Identifier: Apache-2.0
"""A workflow of its author's own, which keeps the best model as a dictionary of NumPy's arrays."""

import numpy as np
import torch
from nvflare.app_common.abstract.fl_model import FLModel
from nvflare.app_common.workflows.model_controller import ModelController


class Mean(ModelController):
    def __init__(self, num_clients, num_rounds, size, path="mean.pt"):
        super().__init__()
        self.num_clients, self.num_rounds, self.size, self.path = num_clients, num_rounds, size, path

    def run(self):
        params, best = {"weights": np.zeros(self.size), "offset": np.zeros(1)}, float("inf")
        for number in range(self.num_rounds):
            sites = self.sample_clients(self.num_clients)
            model = FLModel(params=params, current_round=number, total_rounds=self.num_rounds)
            results = self.send_model_and_wait(targets=sites, data=model)
            params = {name: sum(one.params[name] for one in results) / len(results) for name in params}
            loss = sum(one.metrics["loss"] for one in results) / len(results)
            self.info(f"round {number}: loss {loss:.4f}")
            if loss < best:
                best = loss
                torch.save(params, f"{self.get_run_dir()}/{self.path}")
