"""A FedJob as a user has one, who knows nothing of Rekindle."""

import argparse

from nvflare.app_common.np.np_model_persistor import NPModelPersistor
from nvflare.app_common.workflows.fedavg import FedAvg
from nvflare.job_config.api import FedJob
from nvflare.job_config.script_runner import FrameworkType, ScriptRunner

parser = argparse.ArgumentParser()
parser.add_argument("--sites", type=int, default=2)
parser.add_argument("--rounds", type=int, default=2)
parser.add_argument("--rate", type=float, default=0.1)
args = parser.parse_args()

job = FedJob(name="line")
persistor = job.to_server(NPModelPersistor(model=[0.0, 0.0]), id="persistor")
job.to_server(FedAvg(num_clients=args.sites, num_rounds=args.rounds, persistor_id=persistor))
for number in range(1, args.sites + 1):
    runner = ScriptRunner(
        script="client.py", script_args=f"--rate {args.rate}", framework=FrameworkType.NUMPY
    )
    job.to(runner, ("clinic-b", "hospital_a", "uni.c")[number - 1])
job.simulator_run("/tmp/line")
