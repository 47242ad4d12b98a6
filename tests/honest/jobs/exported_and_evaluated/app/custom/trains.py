# SPDX-License-Identifier: Apache-2.0
"""An executor that trains, validates, and gives its last model away."""

import torch
from net import Net, points
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import make_reply
from nvflare.app_common.app_constant import AppConstants


class Trains(Executor):
    def __init__(self, steps=10, rate=0.1):
        super().__init__()
        self.steps, self.rate, self.last = steps, rate, None

    def execute(self, task_name, shareable, fl_ctx, abort_signal):
        if task_name == AppConstants.TASK_SUBMIT_MODEL:
            return DXO(DataKind.WEIGHTS, data=self.last).to_shareable()
        model, weights = Net(), from_shareable(shareable).data
        model.load_state_dict({name: torch.as_tensor(value) for name, value in weights.items()})
        x, y = points(int(fl_ctx.get_identity_name()[-1]))
        held_out = slice(500, 600)
        if task_name == AppConstants.TASK_VALIDATION:
            with torch.no_grad():
                answers = model(x[held_out])
            right = (answers.argmax(1) == y[held_out]).float().mean().item()
            loss = torch.nn.functional.cross_entropy(answers, y[held_out]).item()
            return DXO(DataKind.METRICS, data={"accuracy": right, "loss": loss}).to_shareable()
        if task_name != AppConstants.TASK_TRAIN:
            return make_reply(ReturnCode.TASK_UNKNOWN)
        for _ in range(self.steps):
            loss = torch.nn.functional.cross_entropy(model(x[:500]), y[:500])
            model.zero_grad()
            loss.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(self.rate * parameter.grad)
        self.log_info(fl_ctx, f"loss {loss.item():.4f}")
        self.last = {name: value.numpy().copy() for name, value in model.state_dict().items()}
        result = DXO(DataKind.WEIGHTS, data=self.last)
        result.set_meta_prop("NUM_STEPS_CURRENT_ROUND", self.steps)
        return result.to_shareable()
