# SPDX-License-Identifier: Apache-2.0
from flow import Means
from nvflare.job_config.api import FedJob
from worker import Adds

SITES = 2

if __name__ == "__main__":
    job = FedJob(name="sums")
    job.to(Means(SITES), "server")
    for number in range(1, SITES + 1):
        job.to(Adds(), f"site-{number}", tasks=["add", "tell"])
    job.simulator_run("workspace")
