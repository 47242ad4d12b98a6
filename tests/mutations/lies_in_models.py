"""Contradictions in what was trained: models, losses, metrics, distances."""

import json

from mutation_kinds import (
    both,
    claims,
    exact,
    lie,
    lies,
    pick,
    processes_by_rank,
    several_ranks,
    several_sites,
    spec2,
)


def digest(rng):
    """Return a digest that nobody has."""
    return f"{rng.getrandbits(256):064x}"


def last_round(run):
    return run.spec["job"]["rounds"] - 1


def rounds(run, **where):
    """Return the rounds of ranks with such fields, in order of rounds."""
    return sorted(run.of("round", **where), key=lambda one: one["round"])


def _each_rank(run):
    return ((site, rank) for site in run.sites for rank in range(run.ranks(site)))


def _later(run):
    return [one for one in run.of("round") if one["round"]]


def _before(run, one, site=None):
    site = site or one["site"]
    return run.of("round", site=site, rank=0, round=one["round"] - 1)[0]


@lie("one global model", both(several_sites, lambda run: run.spec["job"]["rounds"] > 1), ways=1)
def _no_federation(run, rng):
    """Trainers take the global model in round 0 only, and then go on with their own weights."""
    for one in _later(run):
        before = _before(run, one)
        one["model_in"] = before["model_out"]
        if one.get("sketch_in"):
            one["sketch_in"] = before["sketch_out"]


@lie("one global model", several_sites)
def _one_site_goes_on_with_its_own_weights(run, rng):
    site = pick(rng, run.sites)
    for one in _later(run):
        if one["site"] == site:
            one["model_in"] = _before(run, one)["model_out"]


@lie("one global model", several_sites)
def _one_site_skips_the_server_in_one_round(run, rng):
    site, number = pick(rng, run.sites), rng.randint(1, last_round(run))
    for one in run.of("round", site=site, round=number):
        one["model_in"] = _before(run, one)["model_out"]


@lie("one global model", several_sites)
def _all_go_on_with_the_model_of_one_site(run, rng):
    """The server did not aggregate but handed out one site's model."""
    site = pick(rng, run.sites)
    for one in _later(run):
        one["model_in"] = _before(run, one, site)["model_out"]


@lie("one global model")
def _one_round_starts_from_the_model_of_a_site(run, rng):
    site, number = pick(rng, run.sites), rng.randint(1, last_round(run))
    for one in run.of("round", round=number):
        one["model_in"] = _before(run, one, site)["model_out"]


@lie("new in every round")
def _the_same_global_model_in_two_rounds(run, rng):
    one, other = rng.sample(range(last_round(run) + 1), 2)
    model = run.of("round", round=one)[0]["model_in"]
    for event in run.of("round", round=other):
        event["model_in"] = model


@lie("new in every round", ways=1)
def _the_same_global_model_in_all_rounds(run, rng):
    model = run.of("round", round=0)[0]["model_in"]
    for event in run.of("round"):
        event["model_in"] = model


@lie("new in every round", exact)
def _two_rounds_swap_their_global_models(run, rng):
    """What round 0 starts from is the initial model, so that its order is told."""
    other = rng.randint(1, last_round(run))
    first, then = (run.of("round", round=number)[0]["model_in"] for number in (0, other))
    for event in run.of("round"):
        event["model_in"] = {first: then, then: first}.get(event["model_in"], event["model_in"])


@lie("one global model", lambda run: len(run.of("device")) > 1)
def _one_rank_starts_from_a_model_that_nobody_has(run, rng):
    pick(rng, run.of("round"))["model_in"] = digest(rng)


@lie("one global model", several_sites)
def _one_site_starts_from_a_model_that_nobody_has(run, rng):
    model, site, number = digest(rng), pick(rng, run.sites), rng.randint(0, last_round(run))
    for one in run.of("round", site=site, round=number):
        one["model_in"] = model


@lie("one global model", several_sites)
def _each_site_has_a_global_model_of_its_own(run, rng):
    for site in run.sites:
        for number in range(1, last_round(run) + 1):
            model = digest(rng)
            for one in run.of("round", site=site, round=number):
                one["model_in"] = model


@lie("initial model", exact)
def _the_initial_model_is_one_that_nobody_started_from(run, rng):
    run.final["initial"] = digest(rng)


@lie("initial model")
def _sites_start_from_the_final_model(run, rng):
    for one in run.of("round", round=0):
        one["model_in"] = run.final["final"]


@lie("its own model", several_sites)
def _a_site_sends_what_another_sent(run, rng):
    site, other = rng.sample(run.sites, 2)
    number = rng.randint(0, last_round(run))
    sent = run.of("round", site=other, round=number)[0]["model_out"]
    for one in run.of("round", site=site, round=number):
        one["model_out"] = sent


@lie("its own model", several_sites)
def _a_site_sends_what_another_sent_in_all_rounds(run, rng):
    site, other = rng.sample(run.sites, 2)
    for one in run.of("round", site=site):
        one["model_out"] = run.of("round", site=other, round=one["round"])[0]["model_out"]


@lie("its own model", several_sites)
def _a_site_sends_what_another_sent_a_round_ago(run, rng):
    site, other = rng.sample(run.sites, 2)
    number = rng.randint(1, last_round(run))
    sent = run.of("round", site=other, round=number - 1)[0]["model_out"]
    for one in run.of("round", site=site, round=number):
        one["model_out"] = sent


@lie("its own model")
def _a_site_sends_its_model_of_a_round_ago(run, rng):
    site, number = pick(rng, run.sites), rng.randint(1, last_round(run))
    sent = run.of("round", site=site, round=number - 1)[0]["model_out"]
    for one in run.of("round", site=site, round=number):
        one["model_out"] = sent


@lie("its own model")
def _a_site_sends_the_same_in_all_rounds(run, rng):
    site = pick(rng, run.sites)
    sent = run.of("round", site=site)[0]["model_out"]
    for one in run.of("round", site=site):
        one["model_out"] = sent


@lie("its own model")
def _a_site_sends_the_global_model_back(run, rng):
    site, number = pick(rng, run.sites), rng.randint(0, last_round(run))
    for one in run.of("round", site=site, round=number):
        one["model_out"] = one["model_in"]


@lie("its own model", lambda run: run.spec["job"]["rounds"] > 1)
def _a_site_sends_an_earlier_global_model(run, rng):
    site, number = pick(rng, run.sites), rng.randint(1, last_round(run))
    for one in run.of("round", site=site, round=number):
        one["model_out"] = run.of("round", round=number - 1)[0]["model_in"]


@lie("its own model")
def _a_site_sends_the_next_global_model(run, rng):
    """Its model alone became the global one."""
    site, number = pick(rng, run.sites), rng.randint(1, last_round(run))
    for one in run.of("round", site=site, round=number - 1):
        one["model_out"] = run.of("round", round=number)[0]["model_in"]


@lie("its own model")
def _a_site_sends_the_final_model(run, rng):
    site, number = pick(rng, run.sites), rng.randint(0, last_round(run))
    for one in run.of("round", site=site, round=number):
        one["model_out"] = run.final["final"]


@lie("its own model", several_ranks)
def _a_rank_ends_with_another_model_than_its_site(run, rng):
    pick(rng, run.of("round"))["model_out"] = digest(rng)


@lie("final model")
def _the_final_model_is_that_of_a_site(run, rng):
    one = pick(rng, run.of("round", round=last_round(run)))
    run.final["final"] = one["model_out"]


@lie("final model")
def _the_final_model_is_that_of_a_site_in_an_earlier_round(run, rng):
    run.final["final"] = pick(rng, run.of("round", round=rng.randrange(last_round(run))))["model_out"]


@lie("final model")
def _the_final_model_is_an_earlier_global_one(run, rng):
    run.final["final"] = pick(rng, run.of("round"))["model_in"]


@lie("final model", ways=1)
def _the_final_model_is_the_initial_one(run, rng):
    run.final["final"] = run.final["initial"]


@lie("final model", ways=1)
def _the_final_model_is_the_initial_one_at_a_distance_of_zero(run, rng):
    run.final.update(final=run.final["initial"], distance=0.0)


@lie("final model", exact, ways=1)
def _initial_and_final_model_swap(run, rng):
    final = run.final
    final["initial"], final["final"] = final["final"], final["initial"]


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
        one = pick(rng, [one for one in run.of("round") if name in one["metrics"]])
        one["metrics"][name] = change(one["metrics"][name])

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
    claim = next(one for one in run.spec["job"]["proof"] if one["claim"] == "metric_reached")["options"]
    run.final["metrics"][claim["metric"]] = claim["at_least"] - rng.choice((0.001, 0.05))


@lie("metrics", ways=1)
def _no_final_metrics(run, rng):
    run.final["metrics"] = {}


@lie("metrics", several_ranks)
def _a_rank_has_no_metrics(run, rng):
    pick(rng, run.of("round"))["metrics"] = {}


@lie("metrics", ways=1)
def _no_rank_has_metrics(run, rng):
    for one in run.of("round"):
        one["metrics"] = {}


@lie("metrics", several_ranks)
def _ranks_of_a_site_disagree_on_a_metric(run, rng):
    """Both looked at one and the same model, with the same data."""
    one = pick(rng, [one for one in run.of("round") if one["metrics"]])
    name = pick(rng, one["metrics"])
    one["metrics"][name] = one["metrics"][name] * 0.5 + 0.01


@lie("metrics", both(several_sites, _accuracy))
def _one_site_found_the_first_model_far_better_than_another(run, rng):
    site = pick(rng, run.sites)
    for one in run.of("round", site=site, round=0):
        one["metrics"]["accuracy"] = 0.99


@lie("metrics", _eval_loss)
def _the_final_eval_loss_is_a_ten_thousandth_of_the_last(run, rng):
    """Sites have not come near it in any round."""
    run.final["metrics"]["eval_loss"] /= 10_000


@lie("models")
def _a_model_whose_digest_is_one_digit(run, rng):
    """In all of the evidence."""
    model = pick(rng, run.of("round"))["model_out"]
    digit = pick(rng, "0123456789abcdef")
    for path in run.evidence:
        run.write(path, run.files[path].replace(model.encode(), digit.encode() * 64))


@lie("losses")
def _losses_missing_for_an_epoch(run, rng):
    pick(rng, run.of("round"))["losses"].pop()


@lie("losses")
def _losses_missing_for_all_epochs_of_a_round(run, rng):
    pick(rng, run.of("round"))["losses"] = []


@lie("losses")
def _losses_missing_for_a_rank(run, rng):
    site, rank = pick(rng, _each_rank(run))
    for one in run.of("round", site=site, rank=rank):
        one["losses"] = []


@lie("losses")
def _losses_of_one_epoch_too_many(run, rng):
    one = pick(rng, run.of("round"))
    one["losses"].append(one["losses"][-1] * 0.9)


@lie("losses")
def _a_loss_is_not_finite(run, rng):
    one = pick(rng, run.of("round"))
    one["losses"][rng.randrange(len(one["losses"]))] = None


@lie("losses", several_ranks)
def _a_loss_of_rank_1_is_not_finite(run, rng):
    one = pick(rng, run.of("round", rank=1))
    one["losses"][rng.randrange(len(one["losses"]))] = None


@lie("losses")
def _a_loss_below_zero(run, rng):
    one = pick(rng, run.of("round"))
    place = rng.randrange(len(one["losses"]))
    one["losses"][place] = -one["losses"][place]


@lie("losses")
def _a_loss_of_1e30(run, rng):
    one = pick(rng, run.of("round"))
    one["losses"][rng.randrange(len(one["losses"]))] = 1e30


@lie("losses")
def _a_loss_too_large_for_a_float(run, rng):
    """JSON's 1e400, which a reader takes for infinity or refuses."""
    one = pick(rng, run.of("round"))
    events = run.file_of(one)
    place = next(at for at, other in enumerate(events) if other is one)
    events[place] = json.dumps(one).replace(json.dumps(one["losses"]), "[1e400]")


@lie("losses")
def _losses_that_never_change(run, rng):
    site = pick(rng, run.sites)
    for one in run.of("round", site=site):
        one["losses"] = [0.5] * len(one["losses"])


@lie("losses", lambda run: len(run.of("round")[0]["losses"]) > 2)
def _losses_that_do_not_change_within_a_round(run, rng):
    one = pick(rng, run.of("round"))
    for other in run.of("round", site=one["site"], round=one["round"]):
        other["losses"] = [one["losses"][0]] * len(one["losses"])


@lie("losses", several_ranks)
def _losses_of_a_rank_never_change(run, rng):
    site, rank = pick(rng, _each_rank(run))
    for one in run.of("round", site=site, rank=rank):
        one["losses"] = [0.5] * len(one["losses"])


@lie("losses", ways=1)
def _losses_of_zero(run, rng):
    for one in run.of("round"):
        one["losses"] = [0.0] * len(one["losses"])


@lie("losses", several_ranks)
def _losses_of_a_rank_rise(run, rng):
    site, rank = pick(rng, _each_rank(run))
    mine = rounds(run, site=site, rank=rank)
    every = [loss for one in mine for loss in one["losses"]][::-1]
    for one in mine:
        one["losses"], every = every[: len(one["losses"])], every[len(one["losses"]) :]


@lie("losses")
def _losses_of_two_rounds_are_the_same(run, rng):
    """To the last digit, of two models."""
    site = pick(rng, run.sites)
    one, other = rng.sample(range(last_round(run) + 1), 2)
    losses = run.of("round", site=site, round=one)[0]["losses"]
    for event in run.of("round", site=site, round=other):
        event["losses"] = losses


@lie("clones", several_sites)
def _losses_of_two_sites_are_the_same(run, rng):
    """To the last digit, of two sites' own data."""
    site, other = rng.sample(run.sites, 2)
    for one in run.of("round", site=site):
        one["losses"] = run.of("round", site=other, round=one["round"])[0]["losses"]


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
    for one in run.of("round", site=site, round=number):
        one["samples"] -= max(1, one["samples"] // 10)


@lie("rounds")
def _a_round_of_a_rank_is_missing(run, rng):
    one = pick(rng, run.of("round"))
    run.file_of(one).remove(one)


@lie("rounds")
def _a_round_of_a_site_is_missing(run, rng):
    site, number = pick(rng, run.sites), rng.randint(0, last_round(run))
    for one in run.of("round", site=site, round=number):
        run.file_of(one).remove(one)


@lie("rounds")
def _a_round_is_missing_everywhere(run, rng):
    for one in run.of("round", round=rng.randint(0, last_round(run))):
        run.file_of(one).remove(one)


@lie("rounds")
def _one_round_too_many(run, rng):
    site = pick(rng, run.sites)
    for one in run.of("round", site=site, round=last_round(run)):
        run.file_of(one).append({**one, "round": one["round"] + 1, "model_out": digest(rng)})


@lie("rounds")
def _two_rounds_change_numbers(run, rng):
    site, rank = pick(rng, _each_rank(run))
    one, other = rng.sample(range(last_round(run) + 1), 2)
    for event in run.of("round", site=site, rank=rank):
        event["round"] = {one: other, other: one}.get(event["round"], event["round"])


@lie("rounds", ways=1)
def _rounds_counted_from_one(run, rng):
    for one in run.of("round"):
        one["round"] += 1


@lie("message sizes", lambda run: bool(run.of("round")[0].get("bytes_in")) and several_sites(run))
def _sites_received_the_model_in_different_sizes(run, rng):
    site = pick(rng, run.sites)
    for one in run.of("round", site=site, rank=0):
        one["bytes_in"] = one["bytes_in"] // 2


@lie("message sizes", claims("bytes_exchanged"))
def _a_round_told_no_size(run, rng):
    one = pick(rng, run.of("round", rank=0))
    one[pick(rng, ("bytes_in", "bytes_out"))] = pick(rng, (None, 0, -1))


@lie("message sizes", claims("bytes_exchanged"))
def _a_message_larger_than_the_model(run, rng):
    one = pick(rng, run.of("round", rank=0))
    one[pick(rng, ("bytes_in", "bytes_out"))] = run.final["model_bytes"] + rng.choice((1, 10**6))


@lie("message sizes", claims("bytes_exchanged"), ways=1)
def _the_size_of_the_model_is_not_told(run, rng):
    run.final["model_bytes"] = None


@lie("tracking", claims("tracking_read_back"))
def _a_tracker_gives_back_another_loss(run, rng):
    scalars = pick(rng, run.of("tracking"))["scalars"]
    scalar = pick(rng, [one for one in scalars if one[1] == "loss"])
    scalar[3] *= rng.choice((1.001, 2, -1, 0))


@lie("tracking", claims("tracking_read_back"))
def _a_tracker_gives_back_another_metric(run, rng):
    scalars = pick(rng, run.of("tracking"))["scalars"]
    scalar = pick(rng, [one for one in scalars if one[1] == "eval_loss"])
    scalar[3] *= rng.choice((1.01, 2, -1))


@lie("tracking", claims("tracking_read_back"))
def _a_tracker_gives_nothing_back(run, rng):
    one = pick(rng, run.of("tracking"))
    rng.choice((one["scalars"].clear, lambda: run.file_of(one).remove(one)))()


@lie("tracking", claims("tracking_read_back"))
def _a_tracker_swaps_the_sites(run, rng):
    other = dict(zip(run.sites, reversed(run.sites), strict=True))
    for scalar in pick(rng, run.of("tracking"))["scalars"]:
        scalar[0] = other[scalar[0]]


@lie("tracking", claims("tracking_read_back"))
def _a_tracker_has_a_loss_that_nobody_told(run, rng):
    scalars = pick(rng, run.of("tracking"))["scalars"]
    scalars.append([pick(rng, ("site-9", *run.sites)), "loss", last_round(run) + rng.randint(1, 3), 1.0])


@lie("nonce and server's own account", spec2)
def _the_server_never_told_a_global_model(run, rng):
    for one in run.of("global"):
        run.file_of(one).remove(one)


@lie("nonce and server's own account", spec2)
def _the_server_never_told_a_contribution(run, rng):
    for one in run.of("contribution"):
        run.file_of(one).remove(one)


@lie("clones", processes_by_rank)
def _a_rank_tells_its_round_as_another_rank(run, rng):
    site = pick(rng, run.sites)
    one = pick(rng, run.of("round", site=site, rank=1))
    one["rank"] = 0
