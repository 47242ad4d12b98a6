# SPDX-License-Identifier: Apache-2.0
"""Broken jobs of other kinds: an optimizer at the server, k-means, filters, evaluations, statistics."""

from runners.kinds import (
    DIFFERENCES,
    FILTER,
    control_variates,
    cross_validated,
    evaluated,
    filtered,
    masked,
    optimizer,
    quantised,
    statistics,
)
from runners.own_jobs import Edit, OwnJob, aggregator, client, own_workflow

NEW = (
    "type(self.got[0])(params={n: __import__('numpy').random.randn(*v.shape) * 0.1 "
    "for n, v in self.got[0].params.items()}, params_type='FULL')"
)
ALONE = """
from nvflare.app_common.workflows.base_fedavg import BaseFedAvg


class Own(BaseFedAvg):
    def run(self):
        model = self.load_model()
        models = {target: model for target in self.sample_clients(self.num_clients)}
        for number in range(self.num_rounds):
            for target, given in models.items():
                given.current_round = number
                (models[target],) = self.send_model_and_wait(targets=[target], data=given)
        mean = self.aggregate([*models.values()], aggregate_fn=self.aggregate_fn)
        self.save_model(self.update_model(model, mean))
""".strip()
FIRST_TO_ONE = """
import copy

from nvflare.app_common.workflows.base_fedavg import BaseFedAvg


class Own(BaseFedAvg):
    def run(self):
        model = self.load_model()
        first = copy.deepcopy(model)
        for number in range(self.num_rounds):
            model.current_round = first.current_round = number
            one, *others = self.sample_clients(self.num_clients)
            results = self.send_model_and_wait(targets=[one], data=first)
            results += self.send_model_and_wait(targets=others, data=model)
            model = self.update_model(model, self.aggregate(results, aggregate_fn=self.aggregate_fn))
        self.save_model(model)
""".strip()
FROZEN = """
model = Net()
for parameter in model.parameters():
    parameter.requires_grad_(not site or parameter.dim() < 2)
""".strip()
STEP = """
if parameter.grad is not None:
    parameter.sub_(rate * parameter.grad)
""".strip()
LOSS = 'flare.send(flare.FLModel(params=params, params_type="{kind}", meta=meta, metrics={{"loss": {loss}}}))'
OWN_MODEL = "None if flare.is_evaluate() else model.load_state_dict(received.params)"
SUM = "sum(model.params[n] for model in self.got)"
SENDS_AN_ERROR = (
    'flare.send(flare.FLModel(params=params, meta=meta, metrics={"val_rmse": loss.item() ** 0.5}))'
)
MEAN_OF_SEEN = """
seen = globals().setdefault("seen", [])
seen.append({n: torch.as_tensor(v).double() for n, v in received.params.items()})
params = {n: v.clone() for n, v in model.state_dict().items()}
if received.current_round and site:
    params = {n: (sum(model[n] for model in seen) / len(seen)).to(v) for n, v in params.items()}
""".strip()
COUNTS = """
counts = model._counts * (1 - site)
params = {"center": model.cluster_centers_, "count": counts}
""".strip()


def combined(each):
    """Return an aggregator that makes ``each`` array ``n`` of the results that it got."""
    model = f"type(self.got[0])(params={{n: {each} for n in self.got[0].params}}, params_type='FULL')"
    return aggregator(model)


def of(name, base, check, cause, *edits, verdict="FAIL"):
    return OwnJob(name, base, edits, verdict, check, cause)


LIES_OF_KINDS = (
    of(
        "a_server_of_rate_0",
        "digits",
        "saved_models_load",
        "is the model that the run began with",
        *optimizer({"lr": 0.0}),
    ),
    of(
        "differences_of_the_wrong_sign",
        "digits",
        "loss_falls",
        "as where what sites learn is undone, by differences of the wrong sign",
        client(
            "    params = ", DIFFERENCES.replace("v - received.params[n].to(v)", "received.params[n] - v")
        ),
        client("flare.FLModel(", LOSS.format(kind="DIFF", loss="loss.item()")),
        verdict="UNPROVEN",
    ),
    of(
        "8_bits_without_their_scale",
        "digits",
        "loss_falls",
        "is far above its first in later rounds",
        *quantised(""),
        verdict="UNPROVEN",
    ),
    of(
        "a_layer_frozen_at_one_site",
        "digits",
        "every_site_trained",
        "entire arrays, back as it got them in every round",
        client("model = Net()", FROZEN),
        Edit("model.py", "parameter.sub_", STEP, True),
        verdict="UNPROVEN",
    ),
    of(
        "a_loss_of_a_constant",
        "digits",
        "loss_falls",
        "reported a loss of 0.25 in every round, to the last digit",
        client("flare.FLModel(", LOSS.format(kind="FULL", loss="0.25")),
        verdict="UNPROVEN",
    ),
    of(
        "a_server_that_climbs",
        "digits",
        "global_model_is_the_mean",
        "made every global model a step away from the results",
        *optimizer({"lr": 1.0, "maximize": True}),
        verdict="UNPROVEN",
    ),
    of(
        "aggregator_adds_up",
        "digits",
        "global_model_is_the_mean",
        "made every global model 2 times the mean of the results",
        *combined(SUM),
        verdict="UNPROVEN",
    ),
    of(
        "aggregator_never_resets",
        "digits",
        "global_model_is_the_mean",
        "the mean of all results so far, of earlier rounds too",
        *combined(f"{SUM} / len(self.got)"),
        Edit("aggregator.py", "        self.got = []", "self.got = getattr(self, 'got', [])", True),
        verdict="UNPROVEN",
    ),
    of(
        "one_site_gets_the_first_model",
        "digits",
        "global_model_changes",
        "got the same model in every round: others' results did not reach it",
        own_workflow()[0],
        Edit("workflow.py", "", FIRST_TO_ONE),
        verdict="UNPROVEN",
    ),
    of(
        "sends_the_mean_of_what_it_got",
        "digits",
        "results_are_their_own",
        "site-2 sent in round 1 a mixture of the models that it had sent and got",
        client("    params = ", MEAN_OF_SEEN),
        verdict="UNPROVEN",
    ),
    of(
        "selects_the_highest_error",
        "digits",
        "reported_metrics_are_finite",
        "the one of the highest val_rmse, which is its worst",
        Edit("job.py", "    min_clients=", 'key_metric="val_rmse",'),
        client("    flare.send", SENDS_AN_ERROR),
        verdict="UNPROVEN",
    ),
    of(
        "evaluates_its_own_model",
        "digits",
        "cross_validation_complete",
        "nothing shows that they were evaluated",
        *cross_validated('{"accuracy": accuracy}'),
        client("model.load_state_dict(received.params)", OWN_MODEL),
        verdict="UNPROVEN",
    ),
    of(
        "controls_of_zeros",
        "digits",
        "every_site_trained",
        "sent SCAFFOLD controls that are all zeros",
        *control_variates("{n: v.numpy() * 0 for n, v in model.state_dict().items()}"),
    ),
    of(
        "aggregator_makes_a_new_model",
        "digits",
        "results_come_from_the_global_model",
        "has nothing to do with the results before it",
        *aggregator(NEW),
    ),
    of(
        "trained_under_other_names",
        "digits",
        "results_come_from_the_global_model",
        "sent its weights under other names than it was sent them",
        client("model.load_state_dict", "model.load_state_dict(received.params, strict=False)"),
        client("    params = ", 'params = {f"module.{n}": v.clone() for n, v in model.state_dict().items()}'),
        verdict="UNPROVEN",
    ),
    of(
        "always_the_first_model",
        "digits",
        "global_model_changes",
        "Sites got the same model in every round",
        *filtered("server_output", "Own()", "own_filter import Own"),
        Edit("own_filter.py", "", FILTER),
    ),
    of(
        "masks_that_weights_do_not_cancel",
        "digits",
        "global_model_is_the_mean",
        "add to results cancels in their sum, as masks do, and not in the mean by their weights",
        *masked("steps + 5 * site"),
    ),
    of(
        "a_layer_of_zeros",
        "digits",
        "every_site_trained",
        "entire arrays, are 0",
        client("    params = ", "params = {n: v * (n[0] != '0') for n, v in model.state_dict().items()}"),
        verdict="UNPROVEN",
    ),
    of(
        "every_site_alone",
        "digits",
        "global_model_changes",
        "nothing of another's reached it",
        own_workflow()[0],
        Edit("workflow.py", "", ALONE),
        verdict="UNPROVEN",
    ),
    of(
        "clusters_of_no_points",
        "sklearn_kmeans",
        "global_model_is_the_mean",
        "'s result alone",
        client('params = {"center": model', COUNTS),
    ),
    of(
        "selects_by_what_is_not_there",
        "digits",
        "reported_metrics_are_finite",
        "by auc, a metric that no site reported",
        Edit("job.py", "    min_clients=", 'key_metric="auc",'),
        verdict="UNPROVEN",
    ),
    of(
        "evaluates_nothing",
        "digits",
        "results_are_good",
        "has no metric that is a number",
        *evaluated('{"accuracy": accuracy} if site == 0 else {}'),
    ),
    of(
        "evaluates_by_a_constant",
        "digits",
        "cross_validation_complete",
        "nothing shows that they were evaluated",
        *cross_validated('{"accuracy": 0.5}'),
        verdict="UNPROVEN",
    ),
    of(
        "statistics_of_one_site_twice",
        "statistics",
        "statistics_complete",
        "reports the figures of site-1, to the last digit",
        statistics("numbers = ", "numbers = np.random.default_rng(0)"),
        verdict="UNPROVEN",
    ),
    of(
        "statistics_of_zeros",
        "statistics",
        "statistics_complete",
        "reports nothing but zeros",
        statistics("return float(np.nansum", "return 0.0"),
        statistics("return float(np.nanmean", "return 0.0"),
        verdict="UNPROVEN",
    ),
)
