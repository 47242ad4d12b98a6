# SPDX-License-Identifier: Apache-2.0
"""One site's values."""

from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply


class Adds(Executor):
    def execute(self, task_name, shareable, fl_ctx, abort_signal):
        if task_name == "tell":
            return make_reply(ReturnCode.OK)
        values = range(int(fl_ctx.get_identity_name()[-1]) * 10)
        result = Shareable()
        result["sum"], result["count"] = float(sum(values)), len(values)
        return result
