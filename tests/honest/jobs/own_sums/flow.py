# SPDX-License-Identifier: Apache-2.0
"""A mean of all sites' values by plain messages: no model, and no class of NVFlare's that a console shows."""

from nvflare.apis.controller_spec import Task
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable


class Means(Controller):
    def __init__(self, sites=2):
        super().__init__()
        self.sites, self.sums = sites, []

    def start_controller(self, fl_ctx):
        pass

    def stop_controller(self, fl_ctx):
        pass

    def control_flow(self, abort_signal, fl_ctx):
        self._ask("add", Shareable(), self._take, abort_signal, fl_ctx)
        told = Shareable()
        told["mean"] = sum(value for value, _ in self.sums) / sum(count for _, count in self.sums)
        self._ask("tell", told, None, abort_signal, fl_ctx)

    def _ask(self, name, data, take, abort_signal, fl_ctx):
        task = Task(name=name, data=data, result_received_cb=take)
        self.broadcast_and_wait(
            task, fl_ctx, min_responses=self.sites, wait_time_after_min_received=0, abort_signal=abort_signal
        )

    def _take(self, client_task, fl_ctx):
        self.sums.append((client_task.result["sum"], client_task.result["count"]))

    def process_result_of_unknown_task(self, client, task_name, client_task_id, result, fl_ctx):
        pass
