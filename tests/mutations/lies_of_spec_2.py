"""Contradictions in what runs of spec/2 have besides: nonce, the server's own account, sketches."""

from lies_in_models import digest, last_round
from mutation_kinds import both, exact, lie, lies, pick, several_sites, spec2
from mutation_runs import clone


def _all_events(run):
    paths = [*run.evidence, *(["samples.jsonl"] if "samples.jsonl" in run.files else [])]
    return [event for path in paths for event in run.events_of(path)]


def _nonce(rng, run):
    return rng.choice(
        (
            None,
            "",
            digest(rng)[: len(run.spec["nonce"])],
            run.spec["nonce"][:-1],
            run.spec["nonce"].swapcase(),
        )
    )


@lie("nonce", spec2, ways=6)
def _another_nonce_in_one_line(run, rng):
    pick(rng, _all_events(run))["nonce"] = _nonce(rng, run)


@lie("nonce", spec2, ways=6)
def _another_nonce_in_one_file(run, rng):
    nonce = _nonce(rng, run)
    for event in run.events_of(pick(rng, [*run.evidence, *(["samples.jsonl"] if run.gpus else [])])):
        event["nonce"] = nonce


@lie("nonce", spec2)
def _another_nonce_in_all_lines(run, rng):
    nonce = _nonce(rng, run)
    for event in _all_events(run):
        event["nonce"] = nonce


@lie("nonce", spec2)
def _another_nonce_in_the_end(run, rng):
    run.ended["nonce"] = _nonce(rng, run)


@lie("nonce", spec2)
def _another_nonce_in_the_spec(run, rng):
    run.spec["nonce"] = rng.choice(("", digest(rng)[: len(run.spec["nonce"])]))


@lie("nonce", lambda run: not spec2(run))
def _a_line_with_a_nonce_in_a_run_that_has_none(run, rng):
    pick(rng, run.of("round") + run.of("device"))["nonce"] = digest(rng)[:32]


@lie("global", spec2)
def _a_global_model_that_nobody_has(run, rng):
    pick(rng, run.of("global"))["digest"] = digest(rng)


@lie("global", spec2)
def _two_global_models_swapped(run, rng):
    model, other = rng.sample(run.of("global"), 2)
    for name in ("digest", "sketch"):
        model[name], other[name] = other[name], model[name]


@lie("global", spec2)
def _two_sketches_of_global_models_swapped(run, rng):
    model, other = rng.sample(run.of("global"), 2)
    model["sketch"], other["sketch"] = other["sketch"], model["sketch"]


@lie("global", spec2)
def _a_global_model_not_told(run, rng):
    model = pick(rng, run.of("global"))
    run.file_of(model).remove(model)


@lie("global", spec2)
def _a_global_model_told_twice(run, rng):
    model = pick(rng, run.of("global"))
    run.file_of(model).append({**model, "digest": digest(rng)})


@lie("global", spec2)
def _a_global_model_of_a_round_that_is_none(run, rng):
    model = run.of("global")[-1]
    run.file_of(model).append(
        {**model, "round": rng.choice((-1, last_round(run) + 2, 1000)), "digest": digest(rng)}
    )


@lie("global", spec2)
def _a_global_model_is_what_a_site_sent(run, rng):
    model = pick(rng, [model for model in run.of("global") if model["round"]])
    sent = pick(rng, run.of("contribution", round=model["round"] - 1))
    model.update(digest=sent["digest"], sketch=sent["sketch"])


@lie("global", both(spec2, exact))
def _the_final_model_is_not_the_server_s_last(run, rng):
    run.final["final"] = digest(rng)


@lie("global", spec2)
def _the_server_aggregated_something_else(run, rng):
    """And handed it to all: digests and sketches agree, but it is no mean of what the sites sent."""
    number = rng.randint(1, last_round(run))
    sketch = [
        value + rng.choice((-1, 1)) * (0.1 + abs(value))
        for value in run.of("global", round=number)[0]["sketch"]
    ]
    for model in run.of("global", round=number):
        model["sketch"] = sketch
    for event in run.of("round", round=number):
        event["sketch_in"] = sketch


@lie("global", both(spec2, several_sites))
def _the_server_took_one_site_s_model_as_the_mean(run, rng):
    """Sketches agree everywhere."""
    number = rng.randint(1, last_round(run))
    sent = pick(rng, run.of("contribution", round=number - 1))
    for model in run.of("global", round=number):
        model["sketch"] = clone(sent["sketch"])
    for event in run.of("round", round=number):
        event["sketch_in"] = clone(sent["sketch"])


def _swapped(*names):
    def change(run, rng):
        number = rng.randint(0, last_round(run))
        contribution, other = rng.sample(run.of("contribution", round=number), 2)
        if all(contribution[name] == other[name] for name in names):
            pick(rng, ())
        for name in names:
            contribution[name], other[name] = other[name], contribution[name]

    return change


lies(
    "contribution",
    {
        "contributions of two sites swapped": _swapped("site"),
        "sketches of two sites' contributions swapped": _swapped("sketch"),
        "digests and sketches of two sites' contributions swapped": _swapped("digest", "sketch"),
        "all of two sites' contributions swapped but their names": _swapped(
            "digest", "sketch", "weight", "distance"
        ),
    },
    where=both(spec2, several_sites),
)


@lie("contribution", both(spec2, several_sites, exact))
def _digests_of_two_sites_contributions_swapped(run, rng):
    _swapped("digest")(run, rng)


@lie("contribution", both(spec2, exact))
def _a_contribution_that_nobody_sent(run, rng):
    pick(rng, run.of("contribution"))["digest"] = digest(rng)


def _altered(**values):
    def change(run, rng):
        contribution = pick(rng, run.of("contribution"))
        contribution.update(
            {name: value(contribution[name]) if callable(value) else value for name, value in values.items()}
        )

    return change


lies(
    "contribution",
    {
        "a contribution that is not finite": _altered(finite=False),
        "a contribution with a return code": _altered(return_code="EXECUTION_EXCEPTION"),
        "a contribution with no return code": _altered(return_code=""),
        "a contribution without weight": _altered(weight=None),
        "a contribution of weight 0": _altered(weight=0.0),
        "a contribution of weight below zero": _altered(weight=-1.0),
        "a contribution of a thousandfold weight": _altered(weight=lambda value: (value or 1) * 1000),
        "a contribution without distance": _altered(distance=None),
        "a contribution at a distance of zero": _altered(distance=0.0),
        "a contribution at a distance below zero": _altered(distance=-1.0),
        "a contribution at a distance of 1e30": _altered(distance=1e30),
        "a contribution of zeros": _altered(sketch=lambda value: [0.0] * len(value)),
        "a contribution with half a sketch": _altered(sketch=lambda value: value[: len(value) // 2]),
        "a contribution without sketch": _altered(sketch=[]),
        "a contribution with twice its sketch": _altered(
            sketch=lambda value: [2 * number + 1 for number in value]
        ),
        "a contribution of a stranger": _altered(site="site-9"),
        "a contribution of another round": _altered(round=lambda value: value + 1),
    },
    where=spec2,
)


@lie("contribution", spec2)
def _a_contribution_not_told(run, rng):
    contribution = pick(rng, run.of("contribution"))
    run.file_of(contribution).remove(contribution)


@lie("contribution", spec2)
def _a_contribution_told_twice(run, rng):
    contribution = pick(rng, run.of("contribution"))
    run.file_of(contribution).append(clone(contribution))


@lie("contribution", spec2)
def _a_contribution_is_the_site_s_of_a_round_ago(run, rng):
    contribution = pick(
        rng, [contribution for contribution in run.of("contribution") if contribution["round"]]
    )
    before = run.of("contribution", site=contribution["site"], round=contribution["round"] - 1)[0]
    contribution.update(digest=before["digest"], sketch=before["sketch"])


@lie("contribution", both(spec2, several_sites))
def _a_contribution_is_another_site_s(run, rng):
    contribution = pick(rng, run.of("contribution"))
    sent = run.of("contribution", round=contribution["round"])
    other = pick(rng, [other for other in sent if other is not contribution])
    contribution.update(digest=other["digest"], sketch=other["sketch"])


@lie("contribution", spec2)
def _a_contribution_is_the_global_model(run, rng):
    contribution = pick(rng, run.of("contribution"))
    model = run.of("global", round=contribution["round"])[0]
    contribution.update(digest=model["digest"], sketch=model["sketch"])


@lie("contribution", spec2)
def _a_contribution_before_its_round(run, rng):
    contribution = pick(rng, run.of("contribution"))
    contribution["time"] = run.of("global", round=contribution["round"])[0]["time"] - 0.5


@lie("contribution", spec2)
def _a_contribution_after_its_aggregation(run, rng):
    contribution = pick(rng, run.of("contribution"))
    contribution["time"] = run.of("global", round=contribution["round"] + 1)[0]["time"] + 0.5


@lie("contribution", spec2)
def _a_contribution_before_its_training(run, rng):
    contribution = pick(rng, run.of("contribution"))
    trained = run.of("round", site=contribution["site"], round=contribution["round"], rank=0)[0]
    contribution["time"] = trained["time"] - trained["seconds"] - 0.1


@lie("sketches", spec2)
def _a_sketch_of_what_was_received_that_is_another(run, rng):
    event = pick(rng, [event for event in run.of("round") if event.get("sketch_in")])
    place = rng.randrange(len(event["sketch_in"]))
    event["sketch_in"][place] += 1 + abs(event["sketch_in"][place])


@lie("sketches", spec2)
def _a_sketch_of_what_was_sent_that_is_another(run, rng):
    event = pick(rng, [event for event in run.of("round") if event.get("sketch_out")])
    place = rng.randrange(len(event["sketch_out"]))
    event["sketch_out"][place] += 1 + abs(event["sketch_out"][place])


@lie("sketches", spec2)
def _no_sketches_of_a_rank(run, rng):
    event = pick(rng, run.of("round", rank=0))
    event[pick(rng, ("sketch_in", "sketch_out"))] = None


@lie("sketches", spec2)
def _sketches_in_and_out_swapped(run, rng):
    event = pick(rng, [event for event in run.of("round") if event.get("sketch_out")])
    event["sketch_in"], event["sketch_out"] = event["sketch_out"], event["sketch_in"]


@lie("one global model", both(spec2, several_sites), ways=1)
def _no_federation_as_trainers_and_server_tell_it(run, rng):
    """Trainers go on with their own weights; the server aggregates what it gets, which nobody takes."""
    for event in run.of("round"):
        if event["round"]:
            before = run.of("round", site=event["site"], rank=0, round=event["round"] - 1)[0]
            event.update(model_in=before["model_out"], sketch_in=before["sketch_out"])
