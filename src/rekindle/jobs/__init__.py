# SPDX-License-Identifier: Apache-2.0
"""Jobs on the controller: job.yml × host × time → what runs where."""

# ruff: noqa: F401

from .containers import archive_of, engine_of, id_of_image
from .data import find_missing, sent_with
from .defaults import folder_of
from .load import (
    Own,
    asked_as,
    example_names,
    expand,
    known_jobs,
    load_job,
    load_of_plan,
    load_planned,
    own_path,
    read_own,
    with_arguments,
    with_sizes,
)
from .placement import NoRunError
from .prepare import digest, environment_of, foresee, prepare, stops, within, without_a_run
from .unfit import of_another_release
