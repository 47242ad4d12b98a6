# SPDX-License-Identifier: Apache-2.0
"""Ways in which a user's job is broken and ends as if it had trained: verdict, and the check that sees it."""

from runners.kinds import AVERAGE, DIFFERENCES, NO_INTEGERS, SENT
from runners.own_jobs import (
    AGGREGATOR,
    LAST,
    Edit,
    OwnJob,
    aggregator,
    client,
    own_workflow,
    stops_early,
    swarm,
)


def digits(name, check, cause, *edits, verdict="FAIL", **fields):
    return OwnJob(name, "digits", edits, verdict, check, cause, tuple(fields.items()))


SWALLOWED = """
try:
    raise RuntimeError("CUDA error: an illegal memory access was encountered")
except RuntimeError:
    import traceback
    {how}
""".strip()
LEFT_OUT = """
try:
    if site and steps % 40:
        raise OSError(5, "Input/output error")
except OSError as error:
    __import__("logging").getLogger("data").warning("batch left out: %s", error)
    continue
""".strip()
MOMENTS = """
class Net(Net):
    def __init__(self):
        super().__init__()
        self.register_buffer("average", torch.zeros(64, 64))


""".lstrip()
OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=RATE)"
NOT_TRAINED = "no trainable parameter changed by more than rounding"
FIRST_TWO = "model = self.update_model(model, self.aggregate(results[:2], aggregate_fn=self.aggregate_fn))"
LIES = (
    digits(
        "forgets_to_step", "every_site_trained", NOT_TRAINED, client("step(model, RATE)", "pass"), sites=1
    ),
    digits("rate_of_zero", "every_site_trained", NOT_TRAINED, client("RATE = ", "RATE = 0.0"), sites=1),
    digits(
        "moves_by_rounding", "every_site_trained", NOT_TRAINED, client("RATE = ", "RATE = 1e-10"), sites=1
    ),
    digits(
        "untrained_under_other_names",
        "every_site_trained",
        NOT_TRAINED,
        client("model.load_state_dict", "model.load_state_dict(received.params, strict=False)"),
        client("step(model, RATE)", "pass"),
        client("    params = ", 'params = {f"module.{n}": v.clone() for n, v in model.state_dict().items()}'),
        sites=1,
    ),
    digits(
        "loads_nothing",
        "results_come_from_the_global_model",
        "takes nothing of the models that it gets at client.py:",
        Edit("model.py", "super().__init__", "torch.manual_seed(0)"),
        client(
            "model.load_state_dict",
            'model.load_state_dict({f"net.{n}": v for n, v in received.params.items()}, strict=False)',
        ),
        verdict="UNPROVEN",
    ),
    digits(
        "reads_nothing",
        "results_come_from_the_global_model",
        "takes nothing of the models that it gets at client.py:",
        Edit("model.py", "super().__init__", "torch.manual_seed(0)"),
        client("model.load_state_dict", "print(received.current_round)"),
        verdict="UNPROVEN",
    ),
    digits(
        "takes_the_first_model_alone",
        "results_come_from_the_global_model",
        "takes nothing of the models that it gets at client.py:",
        client(
            "model.load_state_dict",
            "_ = received.current_round or model.load_state_dict(received.params)",
        ),
        verdict="UNPROVEN",
    ),
    digits(
        "steps_a_buffer_alone",
        "every_site_trained",
        NOT_TRAINED,
        Edit("model.py", "def points", MOMENTS),
        client("step(model, RATE)", "model.average.lerp_(model[0].weight.grad, RATE)"),
    ),
    digits(
        "steps_one_bias_alone",
        "every_site_trained",
        "next to nothing is trained, or a filter cuts it away",
        Edit("model.py", "super().__init__", NO_INTEGERS, instead=True),
        client("step(model, RATE)", "model[-1].bias.data[0] -= RATE * model[-1].bias.grad[0]"),
        verdict="UNPROVEN",
    ),
    digits(
        "loads_its_own_checkpoint",
        "results_come_from_the_global_model",
        "optimizer does not begin from the models that it gets at client.py:",
        client("RATE = ", "RATE, own = 0.05, None"),
        client("model.load_state_dict", f"model.load_state_dict(own or received.params)\n{OPTIMIZER}"),
        client("step(model, RATE)", "optimizer.step()"),
        client("    meta = ", 'own, meta = params, {"NUM_STEPS_CURRENT_ROUND": steps}'),
        verdict="UNPROVEN",
    ),
    digits(
        "sends_its_change_as_the_model",
        "global_model_is_the_mean",
        "what training changed, and the server takes that for the whole model",
        client("RATE = ", "RATE = 0.05\ntorch.manual_seed(0)"),
        client("model.load_state_dict", f"model.load_state_dict(received.params)\n{OPTIMIZER}"),
        client("step(model, RATE)", "optimizer.step()"),
        client(
            "    params = ", "params = {n: v - received.params[n] for n, v in model.state_dict().items()}"
        ),
    ),
    digits(
        "adds_noise_and_never_steps",
        "every_site_trained",
        "computes gradients, and no optimizer steps",
        client("model.load_state_dict", f"model.load_state_dict(received.params)\n{OPTIMIZER}"),
        client("step(model, RATE)", "pass"),
        client(
            "    params = ",
            "params = {n: v + 1e-3 * torch.randn(v.shape) for n, v in model.state_dict().items()}",
        ),
        verdict="UNPROVEN",
    ),
    digits(
        "weight_decay_without_gradients",
        "every_site_trained",
        "or all were merely scaled",
        client("step(model, RATE)", "[p.data.mul_(0.99999) for p in model.parameters()]"),
        sites=1,
    ),
    digits(
        "trains_in_the_first_round_alone",
        "every_site_trained",
        "no trainable parameter changed by more than rounding in 2 of 3 rounds",
        client("RATE = ", "RATE = 0.05\ncalls = 0"),
        client("step(model, RATE)", "step(model, RATE * (calls < 56))\ncalls += 1"),
        sites=1,
        verdict="UNPROVEN",
    ),
    digits(
        "keeps_all_differences",
        "global_model_is_the_mean",
        "with the differences of all rounds so far",
        *aggregator(AVERAGE),
        Edit("aggregator.py", "self.got = []", "self.got = getattr(self, 'got', [])", True),
        client("    params = ", DIFFERENCES),
        client("flare.FLModel(", SENT),
        verdict="UNPROVEN",
        rounds=4,
    ),
    digits(
        "server_rate_of_1e_4",
        "global_model_is_the_mean",
        "a step of 0.0001 times the mean change",
        *aggregator(AVERAGE.replace("sum(", "1e-4 * sum(")),
        client("    params = ", DIFFERENCES),
        client("flare.FLModel(", SENT),
        verdict="UNPROVEN",
    ),
    digits(
        "skips_most_batches",
        "every_site_trained",
        "it may have left data out",
        Edit("client.py", "model.zero_grad()", LEFT_OUT),
        client("    meta = ", 'meta = {"NUM_STEPS_CURRENT_ROUND": 2 * (len(x) // 32)}'),
        verdict="UNPROVEN",
    ),
    digits(
        "keeps_one_sites_result",
        "global_model_is_the_mean",
        "'s result alone",
        *aggregator("self.got[0]"),
        verdict="UNPROVEN",
    ),
    digits(
        "aggregates_nothing",
        "global_model_changes",
        "is the model that the run began with",
        *aggregator(
            "type(self.got[0])(params={n: v * 0 for n, v in self.got[0].params.items()}, params_type='DIFF')"
        ),
    ),
    digits(
        "aggregator_leaves_a_site_out",
        "global_model_is_the_mean",
        "made every global model the mean without ",
        *aggregator(
            "type(self.got[0])(params={n: (v + self.got[1].params[n]) / 2 "
            "for n, v in self.got[0].params.items()}, params_type=self.got[0].params_type)"
        ),
        client("    print(", LAST, instead=False),
        sites=3,
        verdict="UNPROVEN",
    ),
    digits(
        "own_workflow_leaves_a_site_out",
        "global_model_changes",
        "was in every round the mean without site-3's result",
        *own_workflow(),
        Edit("workflow.py", "model = self.update_model", FIRST_TWO, instead=True),
        client("    print(", LAST, instead=False),
        sites=3,
        verdict="UNPROVEN",
    ),
    digits(
        "own_workflow_keeps_nothing",
        "global_model_changes",
        "is the model that the run began with",
        *own_workflow(),
        Edit("workflow.py", "model = self.update_model", "pass", instead=True),
    ),
    digits(
        "swarm_keeps_one_sites_result",
        "global_model_is_the_mean",
        "'s result alone",
        *swarm(),
        Edit("job.py", "from model import Net", "from aggregator import Own\nfrom model import Net", True),
        Edit("job.py", "        aggregator=", "        aggregator=Own(),", True),
        Edit("aggregator.py", "", f"{AGGREGATOR.format(returns='self.got.pop(0)')}\n\n    got = []"),
        sites=3,
        verdict="UNPROVEN",
    ),
    digits(
        "swarm_site_returns_what_it_got",
        "every_site_trained",
        "sent back the model that it was sent",
        *swarm(),
        client("    params = ", "params = received.params if site == 1 else model.state_dict()"),
        sites=3,
    ),
    digits(
        "a_site_that_counts_nothing",
        "every_site_counts",
        "site-2's result of round 0 counts 0",
        client("    meta = ", 'meta = {"NUM_STEPS_CURRENT_ROUND": steps * (1 - site)}'),
    ),
    digits(
        "a_share_of_nothing",
        "every_site_counts",
        "site-3's result of round 0 counts 0",
        Edit("job.py", "    min_clients=", 'aggregation_weights={"site-3": 0.0},'),
        sites=3,
    ),
    digits(
        "a_metric_that_is_never_finite",
        "reported_metrics_are_finite",
        "site-1 reported a loss that is not finite",
        client("    meta = ", 'meta = {"NUM_STEPS_CURRENT_ROUND": steps}\nloss = loss * torch.nan'),
        verdict="UNPROVEN",
    ),
    digits(
        "a_new_random_network_each_round",
        "results_come_from_the_global_model",
        "have nothing to do with the model that",
        client("model.load_state_dict(received.params)", "model = Net()"),
        client("step(model, RATE)", "pass"),
    ),
    digits(
        "never_loads_the_global_model",
        "results_come_from_the_global_model",
        "have nothing to do with the model that",
        client("model.load_state_dict(received.params)", "pass"),
    ),
    digits(
        "one_of_three_never_loads_it",
        "results_come_from_the_global_model",
        "site-3's results in the first round have nothing to do with the model that it was sent",
        client(
            "model.load_state_dict(received.params)", "site == 2 or model.load_state_dict(received.params)"
        ),
        sites=3,
    ),
    digits(
        "the_model_as_a_difference",
        "results_come_from_the_global_model",
        "as a change of the model in the first round is about the model",
        client("flare.FLModel(", 'flare.send(flare.FLModel(params=params, params_type="DIFF", meta=meta))'),
        verdict="UNPROVEN",
    ),
    digits(
        "a_difference_as_the_model",
        "results_come_from_the_global_model",
        "is no larger than a change of it",
        client("RATE = ", "RATE = 0.01"),
        client("step(model, RATE)", "step(model, RATE)\n[p.data.mul_(0.998) for p in model.parameters()]"),
        client(
            "    params = ",
            "params = {n: v - received.params[n].to(v) for n, v in model.state_dict().items()}",
        ),
        verdict="UNPROVEN",
    ),
    digits(
        "sends_another_sites_model",
        "results_are_their_own",
        "to the last digit",
        client(
            "    params = ",
            """
import pathlib, tempfile, time
kept = pathlib.Path(tempfile.gettempdir(), f"round-{received.current_round}.pt")
if site == 0:
    torch.save(model.state_dict(), kept.with_suffix(".new"))
    kept.with_suffix(".new").rename(kept)
while not kept.exists():
    time.sleep(0.1)
params = torch.load(kept)
""".strip(),
        ),
        verdict="UNPROVEN",
    ),
    OwnJob(
        "statistics_of_no_data",
        "statistics",
        (Edit("table.py", '["dose"][0] = np.nan', 'self.columns["dose"][:] = np.nan', True),),
        "FAIL",
        "statistics_complete",
        "No site has a value of dose",
    ),
    digits(
        "fewer_rounds_than_it_says",
        "rounds_completed",
        "job.yml expects 7 rounds, and the job announced 3",
        Edit("job.yml", "command:", "command: [job.py]", True),
        rounds=7,
    ),
    digits(
        "stops_by_the_wrong_sign",
        "rounds_completed",
        "Own ended by itself after 1 of at most 8 rounds, and no site reported a metric of more than one",
        *stops_early(">"),
        verdict="UNPROVEN",
        rounds=8,
    ),
    digits(
        "own_workflow_of_fewer_rounds",
        "rounds_completed",
        "job.yml expects 7 rounds, and the job announced 3",
        *own_workflow(),
        Edit("job.yml", "command:", "command: [job.py]", True),
        rounds=7,
    ),
    *(
        OwnJob(
            name,
            "fitted_line",
            (client("loss = ", SWALLOWED.format(how=how), instead=False),),
            "UNPROVEN",
            "trainers_print_no_failure",
            "CUDA error: an illegal memory access",
            (("environment", "torch"),),
        )
        for name, how in (
            ("swallows_a_traceback_in_process", "traceback.print_exc()"),
            ("prints_what_it_swallows", "print('failed:', traceback.format_exc())"),
        )
    ),
)
