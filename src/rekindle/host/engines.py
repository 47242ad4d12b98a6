# SPDX-License-Identifier: Apache-2.0
"""Container engines: the commands by which each gets an image, runs a job in it, and ends that.

Standard library alone, and nothing is started here.
"""

import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

from . import folders


class Box(NamedTuple):
    """What a run wants of its container, whatever the engine."""

    image: str
    """As `Docker.named` returns it."""
    name: str
    folder: str
    """The working directory."""
    home: str
    volumes: tuple[str, ...]
    """``PATH:PATH``, or ``PATH:PATH:ro``."""
    variables: Mapping[str, str]
    gpus: tuple[str, ...]
    """UUIDs."""
    cdi: bool
    """Whether GPUs are given by CDI's names."""


class Docker:
    """Docker: a daemon runs containers, and its command asks it to."""

    options: ClassVar[tuple[str, ...]] = ()
    limits: ClassVar[tuple[str, ...]] = ("--ulimit", "memlock=-1", "--ulimit", "stack=67108864")
    """What NCCL needs: Docker's own defaults are too small, and a daemon without root cannot raise them."""
    own_numbers: ClassVar[bool] = True
    """Whether a container sees its own GPUs alone, and numbers them from 0."""

    def __init__(self, path: str, root: str) -> None:
        """Take the engine's path, and Rekindle's folder on the host."""
        self.path, self.images = path, f"{root}/{folders.IMAGES}"

    def pin_image(self, image: str, digest: str | None) -> str:
        """Return what to run the image by: its digest, as another may have its name by then."""
        return digest or image

    def inspect(self, image: str) -> list[str]:
        """Return the command that prints the SHA-256 of a present image."""
        return [self.path, "image", "inspect", "--format", "{{.Id}}", image]

    def store(self) -> list[str]:
        """Return the command that prints the folder of the images."""
        return [self.path, "info", "--format", "{{.DockerRootDir}}"]

    def pull(self, image: str) -> list[str]:
        """Return the command that pulls the image from its registry."""
        return [self.path, "pull", "--quiet", image]

    def load(self, archive: str, image: str) -> list[str]:
        """Return the command that loads the image from an archive of ``docker save``."""
        return [self.path, "load", "--input", archive]

    def save(self, image: str, archive: str) -> str:
        """Return the command line that makes that archive on another machine."""
        return shlex.join(["docker", "save", image, "-o", archive])

    def run(self, box: Box) -> list[str]:
        """Return the command that runs the words after it in a new container, as its client's child.

        It has the host's network, IPC and PIDs, by which NVML and the driver know its processes. Values of
        variables are not on the command line.
        """
        return [
            *(self.path, "run", "--rm", "--pull=never", "--log-driver=none", "--name", box.name),
            *("--network=host", "--ipc=host", "--pid=host", "--user", f"{os.getuid()}:{os.getgid()}"),
            *self.options,
            *self.gpus(box),
            *(word for volume in box.volumes for word in ("--volume", volume)),
            *(word for name in sorted(box.variables) for word in ("--env", name)),
            *("--env", f"HOME={box.home}", "--workdir", box.folder, box.image),
        ]

    def gpus(self, box: Box) -> list[str]:
        """Return the options that give the GPUs, if there are any, and the limits that they need."""
        if not box.gpus:
            return []
        if box.cdi:
            devices = (word for uuid in box.gpus for word in ("--device", f"nvidia.com/gpu={uuid}"))
            return [*self.limits, *devices]
        return [*self.limits, "--gpus", f'"device={",".join(box.gpus)}"']

    def environ(self, box: Box) -> dict[str, str]:
        """Return the variables that the client has beside its own, for its container."""
        return {}

    def end(self, name: str) -> list[list[str]]:
        """Return the commands that kill and remove a container."""
        return [[self.path, "kill", name], [self.path, "rm", "--force", name]]


class Podman(Docker):
    """Podman: a container has a monitor that its command starts; a user's own needs no daemon and no root.

    A container has this user's limits, by containers.conf; one that is given here would replace all of them.
    """

    options = ("--security-opt", "label=disable", *(("--userns=keep-id",) if os.getuid() else ()))
    limits = ()

    def store(self) -> list[str]:
        """Return the command that prints the folder of the images."""
        return [self.path, "info", "--format", "{{.Store.GraphRoot}}"]


class Apptainer(Docker):
    """Apptainer: an image is a file, and a container is processes of its client's, with all GPUs in sight."""

    own_numbers = False

    def pin_image(self, image: str, digest: str | None) -> str:
        """Return the file of an image, below Rekindle's folder."""
        return f"{self.images}/{name_image_file(image)}.sif"

    def inspect(self, image: str) -> list[str]:
        """Return the command that prints the SHA-256 of the image's file."""
        return ["sha256sum", self.pin_image(image, None)]

    def store(self) -> list[str]:
        """Return the command that prints the folder above that of the images."""
        return ["dirname", self.images]

    def pull(self, image: str) -> list[str]:
        """Return the command that makes the image's file from its registry."""
        return self._made(image, f"docker://{image}")

    def load(self, archive: str, image: str) -> list[str]:
        """Return the command that makes the image's file from an archive of ``docker save``."""
        return self._made(image, f"docker-archive:{archive}")

    def _made(self, image: str, source: str) -> list[str]:
        """Return the command that makes the image's file, which gets its name once it is complete."""
        script = (
            'mkdir -p "$4" && export APPTAINER_TMPDIR="$4" APPTAINER_CONFIGDIR="$4" '
            '&& "$1" build --disable-cache --force "$2.part" "$3" '
            '&& mv "$2.part" "$2"; status=$?; rm -f "$2.part"; exit $status'
        )
        return ["sh", "-c", script, "sh", self.path, self.pin_image(image, None), source, self.images]

    def run(self, box: Box) -> list[str]:
        """Return the command that runs the words after it, as its children."""
        return [
            *(self.path, "--silent", "exec", "--cleanenv", "--home", box.home, "--no-privs"),
            *(("--nv",) if box.gpus else ()),
            *(word for volume in box.volumes for word in ("--bind", volume)),
            *("--pwd", box.folder, box.image),
        ]

    def environ(self, box: Box) -> dict[str, str]:
        """Return the variables that the client takes for its container's."""
        own = {f"APPTAINERENV_{name}": value for name, value in box.variables.items()}
        return {**own, "APPTAINER_CONFIGDIR": self.images}

    def end(self, name: str) -> list[list[str]]:
        """Return nothing: its processes are all that there is of a container."""
        return []


KINDS: dict[str, type[Docker]] = {"docker": Docker, "podman": Podman, "apptainer": Apptainer}
"""By the engine's name, in the order in which they are preferred."""


def name_image_file(image: str) -> str:
    """Return what the file of an image is called, without its ending."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", image)


def name_container(run_dir: Path) -> str:
    """Return the name of a run's container, which the run's next start has again."""
    return f"rekindle-{hashlib.sha256(str(run_dir).encode()).hexdigest()[:16]}"
