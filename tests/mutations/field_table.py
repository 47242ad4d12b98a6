"""Each field that a run's folder holds: which wrong values are contradictions, which cannot be told."""

from mutation_fields import free, register_fields, wrong
from mutation_kinds import (
    both,
    claims,
    exact,
    gpus_named,
    on_gpus,
    processes_by_rank,
    several_ranks,
    several_sites,
    spec2,
)


def spec1(run):
    return not spec2(run)


def _accuracy(run):
    return "accuracy" in run.final["metrics"]


def _gpu_told_twice(run):
    uuids = [device["uuid"] for device in run.of("device")]
    return on_gpus(run) and all(uuids.count(uuid) > 1 for uuid in uuids)


TIME = (
    wrong(
        "missing, zero, negative, huge, an hour later, an hour earlier",
        "It is not within the run, or not in its order.",
    ),
    free("*", "Clocks and logs give milliseconds."),
)
NONCE = (wrong("*", "Every line of evidence repeats the spec's nonce.", spec2),)
NEVER = (
    free("*", "No run that passes has such an event; 'an exception of a rank' and its like put one in."),
)
TASK = (
    *("time", "nonce", "site", "task", "round", "return_code", "kind", "values", "bytes", "finite", "norm"),
    *("moved", "metrics", "trained", "kept", "alike", "weight", "names", "sketch", "sent"),
)
MODEL = ("time", "nonce", "model", "sha256", "error", "values", "finite", "norm", "digest")
"""Of an example's events, which tests/unit/judge/test_example_lies.py alters; no run here has any."""
OURS = (
    wrong("missing", "It is no record."),
    free(
        "*", "The controller's own spec is what a run is judged by; nothing in a run's folder repeats this."
    ),
)
BYTES = (
    wrong(
        "missing, none, zero, negative, thousandfold, huge",
        "A message has a size, and none above the model's.",
        claims("bytes_exchanged"),
    ),
    free("*", "A message may be smaller than the model, by quantising or by adapters alone."),
)
SKETCH = (
    wrong("*", "A sketch is of the weights that were aggregated, handed out or sent, and these agree."),
)
PERCENT = (
    wrong("negative, huge", "It is a share of 0 to 100 percent."),
    free("*", "A GPU's load is anything at any moment, and a sample less proves nothing."),
)

SENT = (free("*", "No run here has it; tests/unit/judge/test_sent.py has runs that do."),)
ON_NODES = (free("*", "Runs here are of one machine; tests/unit/judge/test_judge_nodes.py has others."),)

FIELDS = {
    ("RunSpec", "schema"): (
        wrong("another", "It is no record."),
        wrong("missing", "The default is the newest, whose evidence this run lacks.", spec1),
    ),
    ("RunSpec", "nonce"): (wrong("*", "Every line of evidence repeats it.", spec2),),
    ("RunSpec", "clock"): SENT,
    ("RunSpec", "files"): SENT,
    ("RunSpec", "host"): OURS,
    ("RunSpec", "job"): (wrong("*", "It is no record."),),
    ("RunSpec", "sites"): (
        free("permuted", "Sites have no order."),
        wrong("*", "Evidence and logs are of these sites, each once."),
    ),
    ("RunSpec", "gpus"): (
        wrong("missing, emptied, shortened", "Every GPU in sites is described.", both(on_gpus, spec2)),
        free("*", "They have no order."),
    ),
    ("RunSpec", "python"): OURS,
    ("RunSpec", "docker"): OURS,
    ("RunSpec", "lock_sha256"): OURS,
    ("RunSpec", "versions"): OURS,
    ("RunSpec", "nodes"): ON_NODES,
    ("RunSpec", "slurm"): ON_NODES,
    ("RunSpec", "tmpdir"): OURS,
    ("RunSpec", "cache"): (free("*", OURS[1].why),),
    ("RunSpec", "silence_s"): (free("*", OURS[1].why),),
    ("RunSpec", "cross_device_ops"): (free("*", OURS[1].why),),
    ("Job", "schema"): (wrong("*", "It is no record."),),
    ("Job", "name"): (wrong("missing, empty", "It is no record."), free("*", OURS[1].why)),
    ("Job", "summary"): OURS,
    ("Job", "example"): (free("*", OURS[1].why),),
    ("Job", "code"): (free("*", OURS[1].why),),
    ("Job", "environment"): (wrong("*", "It is no record."),),
    ("Job", "sites"): (
        wrong("missing, zero, negative, thousandth", "It is no record."),
        free("*", OURS[1].why),
    ),
    ("Job", "ranks_per_site"): (
        wrong("missing, zero, negative, thousandth", "It is no record."),
        free("*", OURS[1].why),
    ),
    ("Job", "rounds"): (wrong("*", "Evidence and logs have so many rounds."),),
    ("Job", "when_short_of_gpus"): (wrong("*", "It is no record."),),
    ("Job", "limit_s"): (
        wrong("missing, zero, negative, thousandth", "It is no record."),
        free("*", OURS[1].why),
    ),
    ("Job", "expected_s"): (wrong("zero, negative, thousandth", "It is no record."), free("*", OURS[1].why)),
    ("Job", "priority"): (free("*", OURS[1].why),),
    ("Job", "silence_s"): (wrong("zero, negative, thousandth", "It is no record."), free("*", OURS[1].why)),
    ("Job", "required"): (free("*", "The controller takes it from its own job.yml."),),
    ("Job", "arguments"): (free("*", OURS[1].why),),
    ("Job", "proof"): (
        wrong("missing, emptied", "Nothing is claimed."),
        free("*", "Fewer claims, or one twice, are another question; the controller asks its own."),
    ),
    ("Claim", "claim"): (
        wrong("missing, empty, unknown", "Nobody can tell a claim that nobody knows."),
        free("of another", "It is another question, to which the answer may be yes."),
    ),
    ("Claim", "options"): (free("*", "It is another question, to which the answer may be yes."),),
    ("Site", "name"): (wrong("*", "Evidence and logs are of these sites."),),
    ("Site", "ranks"): (wrong("*", "Evidence is of so many ranks."),),
    ("Site", "gpus"): (wrong("*", "Each rank told the GPU that it was given."),),
    ("GivenGpu", "uuid"): (wrong("*", "It is one that a site was given."),),
    ("GivenGpu", "index"): OURS,
    ("GivenGpu", "name"): (
        wrong("missing", "It is no record."),
        wrong("unknown", "Trainers told the name of the GPU.", gpus_named),
        free("*", "Preflight may not have been told a name, or trainers not."),
    ),
    ("GivenGpu", "memory_mib"): (
        wrong("missing, zero, negative, thousandth", "Samples show more memory in use."),
        free("*", "Nothing else tells the size of a GPU's memory."),
    ),
    ("GivenGpu", "processes"): (free("*", "What held memory before the run may have ended."),),
    ("GpuProcess", "pid"): OURS,
    ("GpuProcess", "name"): OURS,
    ("GpuProcess", "memory_mib"): OURS,
    ("Ended", "schema"): (wrong("another", "It is no record."), free("missing", "There is only one.")),
    ("Ended", "nonce"): NONCE,
    ("Ended", "started"): (wrong("*", "Nothing else tells when the run began."),),
    ("Ended", "duration_s"): (
        wrong(
            "missing, zero, negative, thousandth, thousandfold, huge", "Evidence and logs took another time."
        ),
        free("*", "A run may take a while to end."),
    ),
    ("Ended", "reason"): (wrong("*", "Only a run that finished passes."),),
    ("Ended", "says"): (free("*", "It is a sentence for people."),),
    ("Ended", "waited_s"): (free("*", "It is before the run, of which SLURM alone tells."),),
    ("Ended", "suspensions"): (free("*", "SLURM suspended none of these runs."),),
    ("Ended", "exit_status"): (wrong("*", "Only a run that ended with status 0 passes."),),
    ("GpuSample", "utilisation"): PERCENT,
    ("GpuSample", "memory_utilisation"): PERCENT,
    ("GpuSample", "used_mib"): (
        wrong("negative, huge", "No GPU has such memory."),
        free("*", "Other processes may use any share of it."),
    ),
    ("GpuSample", "processes"): (
        wrong("negative, huge", "No GPU has such memory."),
        free("*", "A process may start or end at any moment."),
    ),
    ("GpuSample", "process_utilisation"): PERCENT,
    ("GpuSample", "xids"): (free("*", "'an Xid during the run' puts one in; none of these does."),),
    ("GpuSample", "xids_by"): (free("*", "It is told, and nothing hangs on it."),),
    ("GpuSample", "ecc_uncorrected"): (
        wrong("negative, one more, huge", "Errors are counted since the driver was loaded."),
        free("*", "NVML may not tell it at any moment."),
    ),
    ("device", "time"): TIME,
    ("device", "nonce"): NONCE,
    ("device", "site"): (wrong("*", "Each rank of each site told its device once."),),
    ("device", "rank"): (wrong("*", "Each rank of each site told its device once."),),
    ("device", "local_rank"): (
        wrong("*", "Processes of a site are counted from 0, each with its own number.", processes_by_rank),
    ),
    ("device", "pid"): (
        wrong("missing, zero, negative, huge, of another", "No two processes have one number."),
        wrong("*", "The samples have seen that process on the GPU.", on_gpus),
    ),
    ("device", "device"): (wrong("*", "It is the rank's own, and of the kind that it was given."),),
    ("device", "uuid"): (wrong("*", "It is the one that the rank was given."),),
    ("device", "name"): (
        wrong("missing", "It is no event."),
        wrong("none, empty, unknown", "Another rank told the same GPU's name.", _gpu_told_twice),
        free("*", "It is another rank's GPU's, which may be of the same kind."),
    ),
    ("device", "node"): ON_NODES,
    ("device", "backend"): (
        wrong("missing, empty, unknown", "It is one that the claim lists."),
        free("of another", "Sites may use several that the claim lists."),
    ),
    ("round", "time"): TIME,
    ("round", "nonce"): NONCE,
    ("round", "site"): (wrong("*", "Each rank of each site told each round once."),),
    ("round", "rank"): (wrong("*", "Each rank of each site told each round once."),),
    ("round", "round"): (wrong("*", "Each rank of each site told each round once."),),
    ("round", "samples"): (
        wrong("missing, zero, negative, thousandfold, huge", "No rank trains on none, nor at such a pace."),
        free("*", "Nothing else tells how many there were."),
    ),
    ("round", "seconds"): (
        wrong("missing, zero, negative, thousandfold, huge, thousandth", "The round had another time."),
        free("*", "Training is a part of the round that may be anything."),
    ),
    ("round", "losses"): (
        wrong(
            "missing, emptied, shortened, lengthened, not finite, negative, zeros, huge",
            "Each epoch has one loss, which is finite and above zero.",
        ),
        free("*", "Losses need not fall in every epoch, and ranks may each tell their own."),
    ),
    ("round", "metrics"): (
        wrong("halved", "Ranks of a site looked at one model with the same data.", several_ranks),
        wrong("*", "Every rank tells the same metrics in every round, each within its bounds."),
    ),
    ("round", "model_in"): (wrong("*", "All trainers start a round from one global model."),),
    ("round", "model_out"): (
        wrong("missing, empty, another model", "What a site sends is its own new model."),
        wrong("unknown", "Ranks of a site end a round with one model.", several_ranks),
    ),
    ("round", "sketch_in"): SKETCH,
    ("round", "sketch_out"): SKETCH,
    ("round", "forward_s"): ON_NODES,
    ("round", "bytes_in"): BYTES,
    ("round", "bytes_out"): BYTES,
    **{("task", name): NEVER for name in TASK},
    **{("model", name): NEVER for name in MODEL},
    **{("acceptance", name): NEVER for name in ("time", "nonce", "record")},
    **{("exception", name): NEVER for name in ("time", "nonce", "site", "rank", "kind", "message", "place")},
    ("final", "time"): TIME,
    ("final", "nonce"): NONCE,
    ("final", "initial"): (
        wrong("missing, empty", "A model has a digest."),
        wrong("*", "Sites started from it.", exact),
    ),
    ("final", "final"): (
        wrong("missing, empty, another model", "It is the last aggregate and no model before it."),
        wrong("unknown", "The server told its last aggregate.", both(spec2, exact)),
    ),
    ("final", "distance"): (
        wrong("missing, none, zero, negative, huge", "Two different models lie apart, by a finite length."),
        free("*", "Nothing else tells how far apart two models are."),
    ),
    ("final", "metrics"): (
        wrong("halved", "The claim asks for more.", _accuracy),
        wrong(
            "missing, emptied, not finite, negative, huge", "A metric has bounds, and the claim asks for one."
        ),
        wrong("one less", "The claim asks for it.", lambda run: len(run.final["metrics"]) == 1),
    ),
    ("final", "model_bytes"): (
        wrong(
            "missing, none, zero, negative, thousandth",
            "Messages have told sizes up to it.",
            claims("bytes_exchanged"),
        ),
        free("*", "A model may be larger than what is exchanged of it."),
    ),
    ("tracking", "time"): TIME,
    ("tracking", "nonce"): NONCE,
    ("tracking", "tracker"): (wrong("*", "Every tracker asked for is read back once."),),
    ("tracking", "scalars"): (
        wrong("missing, emptied", "Each site's losses are read back."),
        free("*", "They have no order, and a tracker may have more, or one that no claim asks for less."),
    ),
    ("global", "time"): TIME,
    ("global", "nonce"): NONCE,
    ("global", "round"): (wrong("*", "The server told each round's model once."),),
    ("global", "digest"): (
        wrong("missing, empty", "A model has a digest."),
        wrong("*", "It is what trainers received.", exact),
    ),
    ("global", "sketch"): SKETCH,
    ("contribution", "time"): TIME,
    ("contribution", "nonce"): NONCE,
    ("contribution", "site"): (wrong("*", "The server got one contribution of each site in each round."),),
    ("contribution", "round"): (wrong("*", "The server got one contribution of each site in each round."),),
    ("contribution", "return_code"): (wrong("*", "Only a contribution that is OK is aggregated."),),
    ("contribution", "digest"): (
        wrong("missing, empty", "A model has a digest."),
        wrong("*", "It is what the site sent.", exact),
    ),
    ("contribution", "sketch"): SKETCH,
    ("contribution", "weight"): (
        free("one more, one less, of another", "So small a share may be lost in rounding, or is equal."),
        wrong("*", "The new global model is the mean by these weights.", several_sites),
    ),
    ("contribution", "finite"): (wrong("*", "Only a finite contribution is aggregated."),),
    ("contribution", "distance"): (
        wrong("missing, none, zero, negative, huge", "A site's model lies apart from the global one."),
        free("*", "Nothing else tells how far apart two models are."),
    ),
    ("sample", "time"): (free("missing", "A sample less proves nothing."), *TIME),
    ("sample", "nonce"): NONCE,
    ("sample", "gpus"): (free("*", "A sample less proves nothing."),),
    ("sample", "unanswered"): (free("*", "It is empty where NVML tells of all GPUs."),),
    ("sample", "memory_mib"): (
        wrong("negative, huge", "No host has such memory."),
        free("*", "A sample less proves nothing."),
    ),
    ("sample", "worked"): (
        free("*", "Runs here are older; tests/unit/judge/test_example_lies.py alters it."),
    ),
}
register_fields(FIELDS)
