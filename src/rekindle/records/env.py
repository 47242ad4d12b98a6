"""``env.json``: the environments that were built, and what the builds report about themselves."""

from __future__ import annotations

from typing import Any, Literal

from .base import Few, FileName, Number, Record, Table, Text, Timestamp


class Environment(Record, kw_only=True, frozen=True):
    """One environment on the host."""

    framework: Text
    path: Text
    python: Text
    """Path of the environment's interpreter."""
    python_version: Text
    lock: FileName
    lock_sha256: Text
    built: Timestamp
    build_s: Number
    packages: Table[Text]
    """Every installed distribution and its version."""
    probe: Table[Any]
    """``build`` (what it says of itself), ``gpus`` (with the error of a product on each), ``collective``;
    for TensorFlow also ``cross_device_ops``, which its jobs have to use."""
    system_site: Table[Text] = {}
    """Distributions that the host's own Python lends to it."""


class EnvRecord(Record, kw_only=True, frozen=True):
    """All environments of one host."""

    schema: Literal["rekindle/env/1"] = "rekindle/env/1"
    host: Text
    environments: Few[Environment]
