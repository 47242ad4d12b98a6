"""Of each rule and each claim of the judge, a kind of mutation that it is known to see."""

from example_rules import of_examples

from rekindle.judge import VALIDATORS
from rekindle.judge.contract import RULES

SEEN_BY = {
    "rounds_aggregated": "the server aggregated one of two",
    "every_rank_on_its_device": "an unknown backend",
    "gpus_used": "a gpu that never worked",
    "site_logs_show": "a site's log does not show the collective",
    "every_rank_trained": "no samples",
    "loss_falls": "losses that never change",
    "model_changed": "distance of zero",
    "metric_reached": "the final metric is below what is claimed",
    "metric_fell": "the final eval loss of 1e30",
    "best_model_selected": "the server selected no best model",
    "bytes_exchanged": "a message larger than the model",
    "tensors_streamed": "no tensor was streamed",
    "messages_quantised": "a message was quantised in part",
    "memory_told": "no memory of the server",
    "tracking_read_back": "a tracker gives back another loss",
    "server_log_clean": "an error log is gone",
    "duration_plausible": "a run shorter than its training",
    "processes_are_distinct": "one pid at two sites",
    "devices_told_before_training": "device told after training",
    "device_of_its_rank": "local rank -1",
    "ranks_on_their_nodes": "a rank on another machine",
    "nodes_keep_pace": "a rank s own part takes longer than the round",
    "device_names_agree": "one gpu with two names",
    "one_global_model_a_round": "each site has a global model of its own",
    "every_site_sends_its_own": "a site sends an earlier global model",
    "final_model_is_an_aggregate": "a site sends the final model",
    "no_clones": "a site is a clone of another that sends models of its own",
    "losses_of_every_epoch": "a loss below zero",
    "losses_are_new": "losses of two rounds are the same",
    "ranks_agree": "losses of a rank rise",
    "as_many_samples_each_round": "a site trained on fewer samples in one round",
    "metrics_in_their_range": "a rank's eval loss below zero",
    "first_metrics_are_of_one_model": "one site found the first model far better than another",
    "server_saw_these_metrics": "a site's metric is another at the server",
    "final_metrics_follow": "the final eval loss is a ten thousandth of the last",
    "trackers_tell_the_same": "a tracker gives back another metric",
    "bytes_of_one_model": "a round told no size",
    "distance_of_a_training": "distance of 1e-30",
    "logs_are_whole": "a site s clock steps back in mid run",
    "no_error_logged": "a critical error in a site's log",
    "error_logs_are_empty": "an error log of a site with a line",
    "job_printed_no_error": "a traceback in job.log",
    "results_are_good": "a peer_rc is EMPTY_RESULT",
    "server_tells_in_order": "a result of another task",
    "sites_tell_the_same": "a site had a task twice",
    "samples_are_sound": "a GPU utilised at 101 percent",
    "sampled_all_along": "samples at one and the same moment",
    "trainers_hold_memory_as_they_train": "a trainer held no memory while it trained",
    "no_gpu_errors": "an xid during the run",
    "server_told_every_round": "a global model not told",
    "contributions_are_sound": "a contribution at a distance below zero",
    "trainers_start_from_the_servers_model": "a sketch of what was received that is another",
    "server_gets_what_trainers_made": "a contribution that nobody sent",
    "aggregated_from_all": "a contribution of a thousandfold weight",
    "final_model_is_the_servers": "the final model is not the server s last",
    "all_within_the_run": "a device before the run",
    "made_under_its_nonce": "a nonce made after the run",
    "files_are_as_sent": "a client that was exchanged on the host",
    "ends_with_its_last_word": "a run an hour longer than its logs",
    "told_in_order": "the final model before the last round",
    "server_and_sites_tell_one_time": "a contribution after its aggregation",
    "nobody_raised": "an exception of a rank",
    "everyone_writes_their_own": "a device in the file of the job",
    "nothing_told_twice": "a final model told twice",
    "everything_is_read": "an unknown event",
    "digests_look_like_digests": "a model whose digest is one digit",
    "best_model_is_of_a_round": "the best metric is one that no site told",
    "contributions_go_as_far": "a contribution at a distance of 1e30",
    "given_gpus_are_known": "GivenGpu.memory_mib zero",
    "logs_are_of_their_sites": "a site that the run does not have left a log",
    "no_gpu_held_before_the_start": "trainers held a gpu before they told it",
    "nothing_newer_than_its_spec": "a line with a nonce in a run that has none",
    "peaks_last_until_the_end_of_training": "peak memory that falls",
    "spec_fits_itself": "Site.gpus lengthened",
    "trainers_print_no_failure": "a RuntimeError of a trainer in a site's log",
    "all_of_this_run": "another nonce in all lines",
}
"""By the name of the validator or rule, the name of a mutation that is not PASS because of it."""


OF_NODES = {"ranks_crossed_the_network"}
"""Rules of runs over several nodes alone, of which none is recorded."""
OF_HOSTS = {"gpus_accepted"}
"""What a run that measured its host claims."""


def rules():
    """Return the register that each rule and claim stands in, by its name, but for those of no run here.

    tests/unit/judge/test_example_lies.py has those of examples, test_judge_nodes.py those of several nodes,
    test_measured.py those of a host.
    """
    every = {**dict.fromkeys(VALIDATORS, VALIDATORS), **dict.fromkeys(RULES, RULES)}
    return {
        name: register for name, register in every.items() if name not in of_examples() | OF_NODES | OF_HOSTS
    }
