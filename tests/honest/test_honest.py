"""Honest jobs of users that look odd: each passes."""

import pytest
from own_jobs import Edit, OwnJob

AGGREGATOR = """
from nvflare.app_common.aggregators.model_aggregator import ModelAggregator


class Own(ModelAggregator):
    def reset_stats(self):
        self.got = []

    def accept_model(self, model):
        self.got.append(model)

    def aggregate_model(self):
        one, count = self.got[0], len(self.got)
        params = {name: sum(model.params[name] for model in self.got) / count for name in one.params}
        return type(one)(params=params, params_type=one.params_type)
""".strip()
AVERAGES = (
    Edit(
        "job.py", "from model import Net", "from aggregator import Own\nfrom model import Net", instead=True
    ),
    Edit("job.py", "    model=Net(),", "    model=Net(),\naggregator=Own(),", instead=True),
    Edit("aggregator.py", "", AGGREGATOR),
)

JOBS = (
    OwnJob("sites_with_names", "named_sites"),
    OwnJob("two_simulations", "two_recipes"),
    OwnJob("scikit_learn", "sklearn_sgd"),
    OwnJob("batch_norm", "digits"),
    OwnJob("ten_sites", "digits", fields=(("sites", 10),)),
    OwnJob("one_site", "digits", fields=(("sites", 1),)),
    OwnJob("one_round", "digits", fields=(("rounds", 1),)),
    OwnJob("small_steps", "digits", (Edit("client.py", "RATE = ", "RATE = 1e-5", instead=True),)),
    OwnJob(
        "long_rounds",
        "digits",
        (Edit("client.py", "for _ in range(2)", "for _ in range(60):", instead=True),),
    ),
    OwnJob(
        "sizes_8_to_1429",
        "digits",
        (Edit("client.py", "model = Net()", "x, y = (x[:8], y[:8]) if site else (x, y)"),),
    ),
    OwnJob(
        "differences",
        "digits",
        (
            Edit(
                "client.py",
                "    params = ",
                "params = {n: v - received.params[n].to(v) for n, v in model.state_dict().items()}",
                instead=True,
            ),
            Edit(
                "client.py",
                "flare.FLModel(",
                'flare.send(flare.FLModel(params=params, params_type="DIFF", meta=meta))',
                instead=True,
            ),
        ),
    ),
    OwnJob("its_own_aggregator", "digits", AVERAGES),
)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_an_honest_job_passes(judged, job):
    verdict = judged[job].result()
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
