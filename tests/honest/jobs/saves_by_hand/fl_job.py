# SPDX-License-Identifier: Apache-2.0
from controller import Mean
from nvflare.job_config.api import FedJob
from nvflare.job_config.script_runner import FrameworkType, ScriptRunner

N_CLIENTS = 2
ROUNDS = 3

if __name__ == "__main__":
    job = FedJob(name="mean", min_clients=N_CLIENTS)
    job.to_server(Mean(num_clients=N_CLIENTS, num_rounds=ROUNDS, size=40))
    for i in range(N_CLIENTS):
        runner = ScriptRunner(script="client.py", framework=FrameworkType.NUMPY)
        job.to(runner, f"site-{i + 1}")
    job.simulator_run("/tmp/nvflare/mean")
