"""Of each rule and each claim of the judge, a kind of mutation that it is known to see."""

from rekindle.judge import VALIDATORS

try:
    from rekindle.judge.contract import RULES
except ImportError:  # before the contract
    RULES = {}

SEEN_BY = {
    "rounds_aggregated": "the server aggregated one of two",
    "every_rank_on_its_device": "an unknown backend",
    "gpus_busy": "a gpu that never worked",
    "site_logs_show": "a site's log does not show the collective",
    "every_rank_trained": "no samples",
    "loss_falls": "losses that never change",
    "model_changed": "distance of zero",
    "metric_reached": "final.metrics halved",
    "metric_fell": "the final eval loss of 1e30",
    "best_model_selected": "the server selected no best model",
    "bytes_exchanged": "a message larger than the model",
    "tensors_streamed": "no tensor was streamed",
    "messages_quantised": "a message was quantised in part",
    "memory_told": "no memory of the server",
    "tracking_read_back": "a tracker gives back another loss",
    "server_log_clean": "an error log is gone",
    "duration_plausible": "a run shorter than its training",
}
"""By the name of the validator or rule, the name of a mutation that is not PASS because of it."""


def rules():
    """Return the register that each rule and claim stands in, by its name."""
    return {**dict.fromkeys(VALIDATORS, VALIDATORS), **dict.fromkeys(RULES, RULES)}
