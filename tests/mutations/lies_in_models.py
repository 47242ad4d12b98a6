"""Contradictions in the models: what trainers received, sent and left, and in which rounds."""

from mutation_kinds import both, exact, lie, pick, processes_by_rank, several_ranks, several_sites, spec2


def digest(rng):
    """Return a digest that nobody has."""
    return f"{rng.getrandbits(256):064x}"


def last_round(run):
    return run.spec["job"]["rounds"] - 1


def each_rank(run):
    return ((site, rank) for site in run.sites for rank in range(run.ranks(site)))


def _later(run):
    return [event for event in run.of("round") if event["round"]]


def _before(run, event, site=None):
    site = site or event["site"]
    return run.of("round", site=site, rank=0, round=event["round"] - 1)[0]


@lie("one global model", both(several_sites, lambda run: run.spec["job"]["rounds"] > 1), ways=1)
def _no_federation(run, rng):
    """Trainers take the global model in round 0 only, and then go on with their own weights."""
    for event in _later(run):
        before = _before(run, event)
        event["model_in"] = before["model_out"]
        if event.get("sketch_in"):
            event["sketch_in"] = before["sketch_out"]


@lie("one global model", several_sites)
def _one_site_goes_on_with_its_own_weights(run, rng):
    site = pick(rng, run.sites)
    for event in _later(run):
        if event["site"] == site:
            event["model_in"] = _before(run, event)["model_out"]


@lie("one global model", several_sites)
def _one_site_skips_the_server_in_one_round(run, rng):
    site, number = pick(rng, run.sites), rng.randint(1, last_round(run))
    for event in run.of("round", site=site, round=number):
        event["model_in"] = _before(run, event)["model_out"]


@lie("one global model", several_sites)
def _all_go_on_with_the_model_of_one_site(run, rng):
    """The server did not aggregate but handed out one site's model."""
    site = pick(rng, run.sites)
    for event in _later(run):
        event["model_in"] = _before(run, event, site)["model_out"]


@lie("one global model")
def _one_round_starts_from_the_model_of_a_site(run, rng):
    site, number = pick(rng, run.sites), rng.randint(1, last_round(run))
    for event in run.of("round", round=number):
        event["model_in"] = _before(run, event, site)["model_out"]


@lie("new in every round")
def _the_same_global_model_in_two_rounds(run, rng):
    number, other = rng.sample(range(last_round(run) + 1), 2)
    model = run.of("round", round=number)[0]["model_in"]
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
    for event in run.of("round", site=site, round=number):
        event["model_in"] = model


@lie("one global model", several_sites)
def _each_site_has_a_global_model_of_its_own(run, rng):
    for site in run.sites:
        for number in range(1, last_round(run) + 1):
            model = digest(rng)
            for event in run.of("round", site=site, round=number):
                event["model_in"] = model


@lie("initial model", exact)
def _the_initial_model_is_one_that_nobody_started_from(run, rng):
    run.final["initial"] = digest(rng)


@lie("initial model")
def _sites_start_from_the_final_model(run, rng):
    for event in run.of("round", round=0):
        event["model_in"] = run.final["final"]


@lie("its own model", several_sites)
def _a_site_sends_what_another_sent(run, rng):
    site, other = rng.sample(run.sites, 2)
    number = rng.randint(0, last_round(run))
    sent = run.of("round", site=other, round=number)[0]["model_out"]
    for event in run.of("round", site=site, round=number):
        event["model_out"] = sent


@lie("its own model", several_sites)
def _a_site_sends_what_another_sent_in_all_rounds(run, rng):
    site, other = rng.sample(run.sites, 2)
    for event in run.of("round", site=site):
        event["model_out"] = run.of("round", site=other, round=event["round"])[0]["model_out"]


@lie("its own model", several_sites)
def _a_site_sends_what_another_sent_a_round_ago(run, rng):
    site, other = rng.sample(run.sites, 2)
    number = rng.randint(1, last_round(run))
    sent = run.of("round", site=other, round=number - 1)[0]["model_out"]
    for event in run.of("round", site=site, round=number):
        event["model_out"] = sent


@lie("its own model")
def _a_site_sends_its_model_of_a_round_ago(run, rng):
    site, number = pick(rng, run.sites), rng.randint(1, last_round(run))
    sent = run.of("round", site=site, round=number - 1)[0]["model_out"]
    for event in run.of("round", site=site, round=number):
        event["model_out"] = sent


@lie("its own model")
def _a_site_sends_the_same_in_all_rounds(run, rng):
    site = pick(rng, run.sites)
    sent = run.of("round", site=site)[0]["model_out"]
    for event in run.of("round", site=site):
        event["model_out"] = sent


@lie("its own model")
def _a_site_sends_the_global_model_back(run, rng):
    site, number = pick(rng, run.sites), rng.randint(0, last_round(run))
    for event in run.of("round", site=site, round=number):
        event["model_out"] = event["model_in"]


@lie("its own model", lambda run: run.spec["job"]["rounds"] > 1)
def _a_site_sends_an_earlier_global_model(run, rng):
    site, number = pick(rng, run.sites), rng.randint(1, last_round(run))
    for event in run.of("round", site=site, round=number):
        event["model_out"] = run.of("round", round=number - 1)[0]["model_in"]


@lie("its own model")
def _a_site_sends_the_next_global_model(run, rng):
    """Its model alone became the global one."""
    site, number = pick(rng, run.sites), rng.randint(1, last_round(run))
    for event in run.of("round", site=site, round=number - 1):
        event["model_out"] = run.of("round", round=number)[0]["model_in"]


@lie("its own model")
def _a_site_sends_the_final_model(run, rng):
    site, number = pick(rng, run.sites), rng.randint(0, last_round(run))
    for event in run.of("round", site=site, round=number):
        event["model_out"] = run.final["final"]


@lie("its own model", several_ranks)
def _a_rank_ends_with_another_model_than_its_site(run, rng):
    pick(rng, run.of("round"))["model_out"] = digest(rng)


@lie("final model")
def _the_final_model_is_that_of_a_site(run, rng):
    event = pick(rng, run.of("round", round=last_round(run)))
    run.final["final"] = event["model_out"]


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


@lie("models")
def _a_model_whose_digest_is_one_digit(run, rng):
    """In all of the evidence."""
    model = pick(rng, run.of("round"))["model_out"]
    digit = pick(rng, "0123456789abcdef")
    for path in run.evidence:
        run.write(path, run.files[path].replace(model.encode(), digit.encode() * 64))


@lie("clones", several_sites)
def _losses_of_two_sites_are_the_same(run, rng):
    """To the last digit, of two sites' own data."""
    site, other = rng.sample(run.sites, 2)
    for event in run.of("round", site=site):
        event["losses"] = run.of("round", site=other, round=event["round"])[0]["losses"]


@lie("rounds")
def _a_round_of_a_rank_is_missing(run, rng):
    event = pick(rng, run.of("round"))
    run.file_of(event).remove(event)


@lie("rounds")
def _a_round_of_a_site_is_missing(run, rng):
    site, number = pick(rng, run.sites), rng.randint(0, last_round(run))
    for event in run.of("round", site=site, round=number):
        run.file_of(event).remove(event)


@lie("rounds")
def _a_round_is_missing_everywhere(run, rng):
    for event in run.of("round", round=rng.randint(0, last_round(run))):
        run.file_of(event).remove(event)


@lie("rounds")
def _one_round_too_many(run, rng):
    site = pick(rng, run.sites)
    for event in run.of("round", site=site, round=last_round(run)):
        run.file_of(event).append({**event, "round": event["round"] + 1, "model_out": digest(rng)})


@lie("rounds")
def _two_rounds_change_numbers(run, rng):
    site, rank = pick(rng, each_rank(run))
    number, other = rng.sample(range(last_round(run) + 1), 2)
    for event in run.of("round", site=site, rank=rank):
        event["round"] = {number: other, other: number}.get(event["round"], event["round"])


@lie("rounds", ways=1)
def _rounds_counted_from_one(run, rng):
    for event in run.of("round"):
        event["round"] += 1


@lie("nonce and server's own account", spec2)
def _the_server_never_told_a_global_model(run, rng):
    for model in run.of("global"):
        run.file_of(model).remove(model)


@lie("nonce and server's own account", spec2)
def _the_server_never_told_a_contribution(run, rng):
    for contribution in run.of("contribution"):
        run.file_of(contribution).remove(contribution)


@lie("clones", processes_by_rank)
def _a_rank_tells_its_round_as_another_rank(run, rng):
    site = pick(rng, run.sites)
    event = pick(rng, run.of("round", site=site, rank=1))
    event["rank"] = 0
