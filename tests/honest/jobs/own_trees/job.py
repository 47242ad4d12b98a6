# SPDX-License-Identifier: Apache-2.0
from forest import Forest
from nvflare.job_config.api import FedJob
from nvflare.job_config.script_runner import FrameworkType, ScriptRunner

SITES, ROUNDS = 2, 2

job = FedJob(name="forest")
job.to_server(Forest(sites=SITES, rounds=ROUNDS))
for number in range(1, SITES + 1):
    job.to(ScriptRunner(script="grow.py", framework=FrameworkType.NUMPY), f"site-{number}")
job.simulator_run("workspace")
