# SPDX-License-Identifier: Apache-2.0
from descent import Descent
from nvflare.job_config.api import FedJob
from nvflare.job_config.script_runner import FrameworkType, ScriptRunner

job = FedJob(name="gradients", min_clients=2)
job.to_server(Descent(num_rounds=8, rate=1.0))
for number in (1, 2):
    runner = ScriptRunner(script="client.py", framework=FrameworkType.NUMPY)
    job.to(runner, f"site-{number}")
job.simulator_run("/tmp/nvflare/gradients")
