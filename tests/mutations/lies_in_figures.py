"""Contradictions in figures: losses, metrics, samples, sizes, distances, and what trackers give back."""

import json

from lies_in_models import each_rank, last_round
from mutation_kinds import both, claims, lie, lies, pick, several_ranks, several_sites


def rounds(run, **where):
    """Return the rounds of ranks with such fields, in order of rounds."""
    return sorted(run.of("round", **where), key=lambda event: event["round"])


def _distance(value):
    def change(run, rng):
        run.final["distance"] = value

    return change


lies(
    "distance",
    {
        "distance of zero": _distance(0.0),
        "distance below zero": _distance(-1.0),
        "distance of 1e-30": _distance(1e-30),
        "distance of 1e30": _distance(1e30),
        "distance of 1e300": _distance(1e300),
        "distance that is not finite": _distance(None),
    },
    ways=1,
)


def _metrics(change, name="accuracy"):
    def every(run, rng):
        event = pick(rng, [event for event in run.of("round") if name in event["metrics"]])
        event["metrics"][name] = change(event["metrics"][name])

    return every


def _final_metric(change, name="accuracy"):
    def only(run, rng):
        run.final["metrics"][name] = change(run.final["metrics"][name])

    return only


def _accuracy(run):
    return "accuracy" in run.final["metrics"]


def _eval_loss(run):
    return "eval_loss" in run.final["metrics"]


lies(
    "metrics",
    {
        f"{who} accuracy {what}": kind(change)
        for who, kind in (("a rank's", _metrics), ("the final", _final_metric))
        for what, change in {
            "of 1.7": lambda value: 1.7,
            "of 97 percent": lambda value: 97.0,
            "below zero": lambda value: -0.01,
            "that is not finite": lambda value: None,
            "of 1e30": lambda value: 1e30,
            "just above one": lambda value: 1.0001,
        }.items()
    },
    where=_accuracy,
)


lies(
    "metrics",
    {
        f"{who} eval loss {what}": kind(change, "eval_loss")
        for who, kind in (("a rank's", _metrics), ("the final", _final_metric))
        for what, change in {
            "below zero": lambda value: -abs(value),
            "that is not finite": lambda value: None,
            "of 1e30": lambda value: 1e30,
        }.items()
    },
    where=_eval_loss,
)


@lie("metrics", claims("metric_reached"))
def _the_final_metric_is_below_what_is_claimed(run, rng):
    claim = next(entry for entry in run.spec["job"]["proof"] if entry["claim"] == "metric_reached")["options"]
    run.final["metrics"][claim["metric"]] = claim["at_least"] - rng.choice((0.001, 0.05))


@lie("metrics", ways=1)
def _no_final_metrics(run, rng):
    run.final["metrics"] = {}


@lie("metrics", several_ranks)
def _a_rank_has_no_metrics(run, rng):
    pick(rng, run.of("round"))["metrics"] = {}


@lie("metrics", ways=1)
def _no_rank_has_metrics(run, rng):
    for event in run.of("round"):
        event["metrics"] = {}


@lie("metrics", several_ranks)
def _ranks_of_a_site_disagree_on_a_metric(run, rng):
    """Both looked at one and the same model, with the same data."""
    event = pick(rng, [event for event in run.of("round") if event["metrics"]])
    name = pick(rng, event["metrics"])
    event["metrics"][name] = event["metrics"][name] * 0.5 + 0.01


@lie("metrics", both(several_sites, _accuracy))
def _one_site_found_the_first_model_far_better_than_another(run, rng):
    site = pick(rng, run.sites)
    for event in run.of("round", site=site, round=0):
        event["metrics"]["accuracy"] = 0.99


@lie("metrics", _eval_loss)
def _the_final_eval_loss_is_a_ten_thousandth_of_the_last(run, rng):
    """Sites have not come near it in any round."""
    run.final["metrics"]["eval_loss"] /= 10_000


@lie("losses")
def _losses_missing_for_an_epoch(run, rng):
    pick(rng, run.of("round"))["losses"].pop()


@lie("losses")
def _losses_missing_for_all_epochs_of_a_round(run, rng):
    pick(rng, run.of("round"))["losses"] = []


@lie("losses")
def _losses_missing_for_a_rank(run, rng):
    site, rank = pick(rng, each_rank(run))
    for event in run.of("round", site=site, rank=rank):
        event["losses"] = []


@lie("losses")
def _losses_of_one_epoch_too_many(run, rng):
    event = pick(rng, run.of("round"))
    event["losses"].append(event["losses"][-1] * 0.9)


@lie("losses")
def _a_loss_is_not_finite(run, rng):
    event = pick(rng, run.of("round"))
    event["losses"][rng.randrange(len(event["losses"]))] = None


@lie("losses", several_ranks)
def _a_loss_of_rank_1_is_not_finite(run, rng):
    event = pick(rng, run.of("round", rank=1))
    event["losses"][rng.randrange(len(event["losses"]))] = None


@lie("losses")
def _a_loss_below_zero(run, rng):
    event = pick(rng, run.of("round"))
    place = rng.randrange(len(event["losses"]))
    event["losses"][place] = -event["losses"][place]


@lie("losses")
def _a_loss_of_1e30(run, rng):
    event = pick(rng, run.of("round"))
    event["losses"][rng.randrange(len(event["losses"]))] = 1e30


@lie("losses")
def _a_loss_too_large_for_a_float(run, rng):
    """JSON's 1e400, which a reader takes for infinity or refuses."""
    event = pick(rng, run.of("round"))
    events = run.file_of(event)
    place = next(at for at, other in enumerate(events) if other is event)
    events[place] = json.dumps(event).replace(json.dumps(event["losses"]), "[1e400]")


@lie("losses")
def _losses_that_never_change(run, rng):
    site = pick(rng, run.sites)
    for event in run.of("round", site=site):
        event["losses"] = [0.5] * len(event["losses"])


@lie("losses", lambda run: len(run.of("round")[0]["losses"]) > 2)
def _losses_that_do_not_change_within_a_round(run, rng):
    event = pick(rng, run.of("round"))
    for other in run.of("round", site=event["site"], round=event["round"]):
        other["losses"] = [event["losses"][0]] * len(event["losses"])


@lie("losses", several_ranks)
def _losses_of_a_rank_never_change(run, rng):
    site, rank = pick(rng, each_rank(run))
    for event in run.of("round", site=site, rank=rank):
        event["losses"] = [0.5] * len(event["losses"])


@lie("losses", ways=1)
def _losses_of_zero(run, rng):
    for event in run.of("round"):
        event["losses"] = [0.0] * len(event["losses"])


@lie("losses", several_ranks)
def _losses_of_a_rank_rise(run, rng):
    site, rank = pick(rng, each_rank(run))
    mine = rounds(run, site=site, rank=rank)
    every = [loss for event in mine for loss in event["losses"]][::-1]
    for event in mine:
        event["losses"], every = every[: len(event["losses"])], every[len(event["losses"]) :]


@lie("losses")
def _losses_of_two_rounds_are_the_same(run, rng):
    """To the last digit, of two models."""
    site = pick(rng, run.sites)
    number, other = rng.sample(range(last_round(run) + 1), 2)
    losses = run.of("round", site=site, round=number)[0]["losses"]
    for event in run.of("round", site=site, round=other):
        event["losses"] = losses


@lie("samples")
def _no_samples(run, rng):
    pick(rng, run.of("round"))["samples"] = 0


@lie("samples")
def _fewer_samples_than_none(run, rng):
    pick(rng, run.of("round"))["samples"] = -rng.randint(1, 3000)


@lie("samples")
def _a_thousand_times_as_many_samples(run, rng):
    pick(rng, run.of("round"))["samples"] *= 1000


@lie("samples")
def _a_site_trained_on_fewer_samples_in_one_round(run, rng):
    site, number = pick(rng, run.sites), rng.randint(0, last_round(run))
    for event in run.of("round", site=site, round=number):
        event["samples"] -= max(1, event["samples"] // 10)


@lie("message sizes", lambda run: bool(run.of("round")[0].get("bytes_in")) and several_sites(run))
def _sites_received_the_model_in_different_sizes(run, rng):
    site = pick(rng, run.sites)
    for event in run.of("round", site=site, rank=0):
        event["bytes_in"] = event["bytes_in"] // 2


@lie("message sizes", claims("bytes_exchanged"))
def _a_round_told_no_size(run, rng):
    event = pick(rng, run.of("round", rank=0))
    event[pick(rng, ("bytes_in", "bytes_out"))] = pick(rng, (None, 0, -1))


@lie("message sizes", claims("bytes_exchanged"))
def _a_message_larger_than_the_model(run, rng):
    event = pick(rng, run.of("round", rank=0))
    event[pick(rng, ("bytes_in", "bytes_out"))] = run.final["model_bytes"] + rng.choice((1, 10**6))


@lie("message sizes", claims("bytes_exchanged"), ways=1)
def _the_size_of_the_model_is_not_told(run, rng):
    run.final["model_bytes"] = None


@lie("tracking", claims("tracking_read_back"))
def _a_tracker_gives_back_another_loss(run, rng):
    scalars = pick(rng, run.of("tracking"))["scalars"]
    scalar = pick(rng, [scalar for scalar in scalars if scalar[1] == "loss"])
    scalar[3] *= rng.choice((1.001, 2, -1, 0))


@lie("tracking", claims("tracking_read_back"))
def _a_tracker_gives_back_another_metric(run, rng):
    scalars = pick(rng, run.of("tracking"))["scalars"]
    scalar = pick(rng, [scalar for scalar in scalars if scalar[1] == "eval_loss"])
    scalar[3] *= rng.choice((1.01, 2, -1))


@lie("tracking", claims("tracking_read_back"))
def _a_tracker_gives_nothing_back(run, rng):
    event = pick(rng, run.of("tracking"))
    rng.choice((event["scalars"].clear, lambda: run.file_of(event).remove(event)))()


@lie("tracking", claims("tracking_read_back"))
def _a_tracker_swaps_the_sites(run, rng):
    other = dict(zip(run.sites, reversed(run.sites), strict=True))
    for scalar in pick(rng, run.of("tracking"))["scalars"]:
        scalar[0] = other[scalar[0]]


@lie("tracking", claims("tracking_read_back"))
def _a_tracker_has_a_loss_that_nobody_told(run, rng):
    scalars = pick(rng, run.of("tracking"))["scalars"]
    scalars.append([pick(rng, ("site-9", *run.sites)), "loss", last_round(run) + rng.randint(1, 3), 1.0])
