"""``images.json``: the images on a host that planned jobs run in, or why they are not there."""

from __future__ import annotations

from typing import Literal

from .base import Few, Record, Text


class Image(Record, kw_only=True, frozen=True):
    """An image that a job names."""

    name: Text
    id: Text | None = None
    """Digest of its configuration, by which the engine knows it; None where it could not be had."""
    says: Text | None = None
    """One sentence: why not."""
    fix: Text | None = None


class ImagesRecord(Record, kw_only=True, frozen=True):
    """What became of each image of a plan."""

    schema: Literal["rekindle/images/1"] = "rekindle/images/1"
    host: Text
    images: Few[Image]
