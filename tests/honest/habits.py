# SPDX-License-Identifier: Apache-2.0
"""Habits of honest jobs, as edits of the digits job: what they log, how they start, when they stop."""

from runners.own_jobs import JOB_OF_CLASSES, Edit, OwnJob, client, stops_early, without_late

OPTIONAL = """
import logging
try:
    import apex
except ImportError:
    logging.getLogger("trainer").info("apex is not here, going on without it", exc_info=True)
""".strip()
SKIPPED = """
try:
    int("n/a")
except ValueError as error:
    print(f"ValueError: record 17 skipped: {error}")
""".strip()
PARTS = '{"loss": loss.item(), "kl_loss": 0.01 * (received.current_round + 1) ** 2 + loss.item() / 1000}'
ERROR = "__import__('logging').getLogger('my.trainer').error('validation loss is above the best')"
QUIET = """
import logging
logging.getLogger("nvflare").setLevel(logging.ERROR)
logging.disable(logging.WARNING)
flare.init()
""".strip()
TWO_WORKFLOWS = """
job.to_server(FedAvg(num_clients=args.sites, num_rounds=args.rounds), id="first")
job.to_server(FedAvg(num_clients=args.sites, num_rounds=args.rounds), id="second")
for number in range(args.sites):
    job.to(ScriptRunner(script="client.py"), f"site-{number + 1}")
""".strip()
TWICE = JOB_OF_CLASSES.format(
    module="base_fed_job",
    job="BaseFedJob",
    imports="from nvflare.app_common.workflows.fedavg import FedAvg\n"
    "from nvflare.job_config.script_runner import ScriptRunner",
    arguments="",
    parts=TWO_WORKFLOWS,
)
MASK = """
class Net(Net):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.triu(torch.full((16, 16), -torch.inf), 1))


""".lstrip()
PERSONAL = """
if received.current_round == 0:
    personal = __import__("copy").deepcopy(model)
own = torch.optim.Adam(personal.parameters(), lr=1e-3)
for batch in torch.randperm(len(x)).tensor_split(9):
    personal.zero_grad()
    torch.nn.functional.cross_entropy(personal(x[batch]), y[batch]).backward()
    own.step()
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
""".strip()
SLOW = "__import__('time').sleep(6 if site == 2 else 2)"
SIMULATOR = """
recipe.export(job_dir="exported")
from nvflare.private.fed.app.simulator.simulator_runner import SimulatorRunner
SimulatorRunner("exported/digits", workspace="own", n_clients=args.sites, threads=args.sites).run()
""".strip()
COMMAND = """
recipe.export(job_dir="exported")
import subprocess, sys
count = str(args.sites)
options = ["exported/digits", "-w", "own", "-n", count, "-t", count]
sys.exit(subprocess.call([sys.executable, "-m", "nvflare.cli", "simulator", *options]))
""".strip()


def digits(name, *edits, **fields):
    return OwnJob(name, "digits", edits, fields=tuple(fields.items()))


HABITS = (
    digits("goes_on_without_a_package", Edit("client.py", "RATE = ", OPTIONAL)),
    digits("skips_a_bad_record", Edit("client.py", "    steps = 0", SKIPPED)),
    digits(
        "a_part_of_the_loss_rises",
        client("flare.FLModel(", f"flare.send(flare.FLModel(params=params, meta=meta, metrics={PARTS}))"),
    ),
    digits("the_same_data_everywhere", client("x, y = (part[site", "x, y = points()")),
    digits("logs_an_error_of_its_own", Edit("client.py", "    print(", ERROR)),
    digits("quiets_nvflare", client("flare.init()", QUIET)),
    digits("has_a_mask_of_attention", Edit("model.py", "def points", MASK)),
    digits("stops_early", *stops_early("<"), rounds=8),
    digits(
        "leaves_a_late_site_behind",
        without_late(),
        Edit("client.py", "    steps = 0", SLOW),
        sites=3,
    ),
    digits(
        "trains_a_model_of_its_own_too",
        Edit("client.py", "    model.train()", PERSONAL),
        client("step(model, RATE)", "optimizer.step()"),
    ),
    digits("two_workflows", Edit("job.py", "", TWICE)),
    digits("simulator_runner", Edit("job.py", "recipe.execute", SIMULATOR, True)),
    digits("simulator_command", Edit("job.py", "recipe.execute", COMMAND, True)),
    OwnJob("sends_gradients", "gradients"),
    OwnJob("folder_of_hocon", "hocon"),
)
