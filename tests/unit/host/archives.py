# SPDX-License-Identifier: Apache-2.0
"""Folders and archives of runs, as tests compare them."""

from rekindle.host import archive
from rekindle.results.archive import unpack_archive


def names(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def collect(run, home):
    packed = run.with_name("packed.tar.gz")
    archive.pack_run(run, packed)
    unpack_archive(packed, home)
