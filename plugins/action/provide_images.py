"""Action ``provide_images``: loads or pulls the container images of a host's jobs, and writes images.json."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from ansible.utils.display import Display

from rekindle.actions.base import Action, documented_options
from rekindle.actions.limits import limited
from rekindle.host import folders
from rekindle.jobs import archive_of
from rekindle.records import HostRecord, Image, ImagesRecord, write
from rekindle.records.folders import host_in, plan_in
from rekindle.records.text import one_line

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@limited
class ActionModule(Action):
    """plugins/modules has its documentation."""

    OPTIONS = documented_options(__name__)

    _supports_check_mode = False

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Have each image, or why not, which refuses the jobs that run in it and no other."""
        folder = Path(args["folder"])
        plan, host = plan_in(folder), host_in(folder)
        images, changed = [], False
        for name in plan.images:
            image = self._known(host, name)
            if image is None:
                image, changed = self._fetched(host, name, args["wheelhouse"]), True
            images.append(image)
        write(folder / folders.IMAGES_RECORD, ImagesRecord(host=host.host, images=tuple(images)))
        return {
            "changed": changed,
            "warnings": [f"{image.says} Fix: {image.fix}" for image in images if image.says],
        }

    def _known(self, host: HostRecord, name: str) -> Image | None:
        inspected = self._docker(host, "image", "inspect", "--format", "{{.Id}}", name)
        digest = _DIGEST.search(inspected["stdout"])
        return Image(name=name, id=digest[0]) if inspected["rc"] == 0 and digest else None

    def _fetched(self, host: HostRecord, name: str, wheelhouse: str) -> Image:
        archive = Path(wheelhouse, archive_of(name))
        if wheelhouse and not archive.is_file():
            says = f"{host.host} has no image {name}, and {wheelhouse} has no {archive.name} to load it from."
            return Image(name=name, says=says, fix=f"docker save {name} -o {archive}")
        Display().display(f"{host.host}: {'loading' if wheelhouse else 'pulling'} {name}")
        done = self._loaded(host, archive) if wheelhouse else self._docker(host, "pull", "--quiet", name)
        lines = [line for line in (done["stderr"] or done["stdout"]).splitlines() if line.strip()]
        said = one_line(lines[-1])[:300].rstrip(".") if lines else "docker said nothing"
        if done["rc"] == 0 and (image := self._known(host, name)):
            return image
        if not wheelhouse:
            fix = "give the host its network and registry, or free space, or load the image there by hand."
            return Image(name=name, says=f"{host.host} cannot pull the image {name}: {said}.", fix=fix)
        fix = f"free space there, or save it again: docker save {name} -o {archive}"
        return Image(name=name, says=f"{host.host} did not load {name} from {archive}: {said}.", fix=fix)

    def _loaded(self, host: HostRecord, archive: Path) -> dict[str, Any]:
        there = f"{host.root}/{folders.CACHE}/{archive.name}"
        try:
            self._connection.put_file(str(archive), there)
            return self._docker(host, "load", "--input", there)
        finally:
            self._low_level_execute_command(f"rm -f -- {shlex.quote(there)}", sudoable=False)

    def _docker(self, host: HostRecord, *words: str) -> dict[str, Any]:
        docker = host.docker.path if host.docker else "docker"
        done: dict[str, Any] = self._low_level_execute_command(shlex.join([docker, *words]), sudoable=False)
        return done
