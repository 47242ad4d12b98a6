"""Jobs on the controller: job.yml × host × time → what runs where."""

from .containers import archive_of, id_of_image, image_of
from .load import (
    asked_as,
    example_names,
    expand,
    known_jobs,
    load_job,
    load_planned,
    own_path,
    with_arguments,
)
from .placement import NoRunError
from .prepare import digest, environment_of, foresee, prepare, stops, within, without_a_run

__all__ = [
    "NoRunError",
    "archive_of",
    "asked_as",
    "digest",
    "environment_of",
    "example_names",
    "expand",
    "foresee",
    "id_of_image",
    "image_of",
    "known_jobs",
    "load_job",
    "load_planned",
    "own_path",
    "prepare",
    "stops",
    "with_arguments",
    "within",
    "without_a_run",
]
