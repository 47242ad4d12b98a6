"""What a job that runs in a container needs of a host, and the images that it needs there."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rekindle.records import HostRecord, Image, Job

from .placement import Unplaceable


def image_of(job: Job) -> str | None:
    """Return the image that a job runs in; None for one that runs in an environment."""
    return job.example.container.image if job.example and job.example.container else None


def archive_of(image: str) -> str:
    """Return the name of the file in a wheelhouse that an image is loaded from."""
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', image)}.tar"


def id_of_image(name: str, images: Iterable[Image], host: str) -> str:
    """Return the digest of the image ``name`` on ``host``, which has these ``images`` or says why not.

    Raises:
        Unplaceable: it has not.
    """
    image = next((image for image in images if image.name == name), None)
    if image and image.id:
        return image.id
    raise Unplaceable(
        (image and image.says) or f"Nobody has looked whether {host} has the image {name}.",
        (image and image.fix) or "Run playbooks/containers.yml.",
    )


def require_engine(job: Job, host: HostRecord) -> None:
    """Require a container engine on the host for a job that runs in a container.

    Raises:
        Unplaceable: there is none, it does not answer, or it can give no GPU to a container.
    """
    image, docker = image_of(job), host.docker
    if image is None:
        return
    runs = f"{job.name} runs in the container {image}, and"
    if docker is None:
        raise Unplaceable(
            f"{runs} {host.host} has no container engine: docker is not there.",
            "Install Docker on the host, or run the job on a host that has it.",
        )
    if docker.version is None:
        raise Unplaceable(
            f"{runs} the container engine of {host.host} does not answer: {docker.says}.",
            "Start Docker's daemon there, and see that "
            f"`{docker.path} info` works for {host.user} (the group docker).",
        )
    if host.gpus and not docker.nvidia:
        raise Unplaceable(
            f"{runs} Docker {docker.version} on {host.host} has no NVIDIA container toolkit.",
            "Install nvidia-container-toolkit there, run nvidia-ctk runtime configure, and restart Docker.",
        )
