# SPDX-License-Identifier: Apache-2.0
"""Jobs on the controller: job.yml × host × time → what runs where."""

# ruff: noqa: F401

from .containers import choose_engine, find_image_id, name_image_archive
from .data import find_missing, list_sent_data
from .defaults import locate_folder
from .loader import load_job, load_planned, load_planned_job, set_arguments, set_sizes
from .names import expand_names, list_examples, list_jobs, name_arguments, resolve_own
from .obstacles import find_job_flaws, refuse_unread
from .own import OwnJob, read_own
from .placement import NoRunError
from .preparation import (
    choose_environment,
    digest_inputs,
    find_stops,
    foresee_jobs,
    limit_spec,
    make_verdict,
    prepare_spec,
)
