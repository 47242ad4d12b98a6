# SPDX-License-Identifier: Apache-2.0
"""The container engine and the images that a job in a container needs on a host."""

import shlex
from collections.abc import Iterable

from rekindle.host.engines import name_image_file
from rekindle.records import Complaint, Engine, HostRecord, Image, Job

from .placement import PlacementError


def name_image_archive(image: str) -> str:
    """Return the name of an image's archive in a wheelhouse."""
    return f"{name_image_file(image)}.tar"


def find_image_id(name: str, images: Iterable[Image], host: str) -> str:
    """Return the digest of the image ``name`` on ``host``, by its record of ``images``.

    Raises:
        PlacementError: the host does not have it.
    """
    image = next((image for image in images if image.name == name), None)
    if image and image.id:
        return image.id
    raise PlacementError(
        (image and image.message) or f"It is not known whether {host} has the image {name}.",
        (image and image.fix) or "Run playbooks/containers.yml.",
    )


def choose_engine(host: HostRecord) -> Engine:
    """Return the first of the host's container engines that can run a job on its GPUs, if it has any.

    Raises:
        Complaint: there is none, or what its first one lacks.
    """
    lacks = [_lack(engine, host) for engine in host.engines]
    for engine, lack in zip(host.engines, lacks, strict=True):
        if lack is None:
            return engine
    raise next(filter(None, lacks), None) or Complaint(
        f"{host.host} has no container engine: no docker, podman or apptainer is there.",
        "Install Podman or Docker on the host, or run the job on a host that has one.",
    )


def require_engine(job: Job, host: HostRecord) -> None:
    """Require a container engine on the host for a job that runs in a container.

    Raises:
        PlacementError: there is none, it does not answer, this user may not use it, or it can give no GPU
            to a container.
    """
    if job.image:
        try:
            choose_engine(host)
        except Complaint as lack:
            runs = f"{job.name} runs in the container {job.image}, and"
            raise PlacementError(f"{runs} {lack.message}", lack.fix) from None


def _lack(engine: Engine, host: HostRecord) -> Complaint | None:
    """Return why the engine cannot run a job on its host."""
    name, user = engine.name.capitalize(), shlex.quote(host.user)
    asks = f"`{shlex.quote(engine.path)} info`"
    if engine.version is None:
        fix = f"See that {asks} works for {user}."
        if engine.name == "docker":
            fix = f"Start Docker's daemon there, and see that {asks} works for {user}."
            if "permission denied" in (engine.message or ""):
                fix = f"Add the user to its group (usermod -aG docker {user}), and end the user's sessions."
        return Complaint(f"{name} of {host.host} does not answer: {engine.message}.", fix)
    if engine.message:
        return Complaint(
            f"{engine.title} on {host.host} cannot run containers of {host.user}: {engine.message}.",
            f"Give them (usermod --add-subuids 200000-265535 --add-subgids 200000-265535 {user}).",
        )
    if not host.gpus or engine.name == "apptainer":
        return None
    if engine.name == "docker" and not (engine.nvidia or engine.cdi):
        return Complaint(
            f"{engine.title} on {host.host} has no NVIDIA container toolkit.",
            "Install nvidia-container-toolkit there, run nvidia-ctk runtime configure, and restart Docker.",
        )
    if engine.name == "podman" and not engine.cdi:
        return Complaint(
            f"{engine.title} on {host.host} has no CDI specification that names its GPUs by UUID.",
            "Install Podman 4.1 or newer and nvidia-container-toolkit there, "
            "and run nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml.",
        )
    return None
