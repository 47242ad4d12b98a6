# SPDX-License-Identifier: Apache-2.0
"""Action ``provide_images``: loads or pulls the container images of a host's jobs, and writes images.json."""

import re
import shlex
from pathlib import Path
from typing import Any

from ansible.utils.display import Display

from rekindle.actions.base import Action
from rekindle.actions.limits import limit_action
from rekindle.host import folders
from rekindle.host.engines import KINDS, Docker
from rekindle.jobs import choose_engine, name_image_archive
from rekindle.records import Complaint, HostRecord, Image, ImagesRecord, write_record
from rekindle.records.layout import host_in, plan_in
from rekindle.records.text import find_last_line, fold_line

_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})\b")
_FREE = re.compile(r"\s(\d+)\s+\d+%\s+(/.*)$", re.MULTILINE)
"""KiB and place, by ``df -Pk``."""


@limit_action
class ActionModule(Action):
    """plugins/modules has its documentation."""

    _supports_check_mode = False

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Provide each image, or record why not; only the jobs that run in it are then refused."""
        folder = Path(args["folder"])
        plan, host = plan_in(folder), host_in(folder)
        known = choose_engine(host)
        engine = KINDS[known.name](known.path, host.root)
        images, changed = [], False
        for name in plan.images:
            image = self._known(engine, name)
            if image is None:
                try:
                    image, changed = self._fetched(engine, host, name, args["wheelhouse"]), True
                except Complaint as why:
                    image = Image(name=name, message=why.message, fix=why.fix)
            images.append(image)
        write_record(folder / folders.IMAGES_RECORD, ImagesRecord(host=host.host, images=tuple(images)))
        return {
            "changed": changed,
            "warnings": [f"{image.message} Fix: {image.fix}" for image in images if image.message],
        }

    def _known(self, engine: Docker, name: str) -> Image | None:
        inspected = self._done(engine.inspect(name))
        digest = _DIGEST.match(inspected["stdout"].strip())
        return Image(name=name, id=f"sha256:{digest[1]}") if inspected["rc"] == 0 and digest else None

    def _fetched(self, engine: Docker, host: HostRecord, name: str, wheelhouse: str) -> Image:
        archive = Path(wheelhouse, name_image_archive(name))
        if wheelhouse and not archive.is_file():
            raise Complaint(
                f"{host.host} has no image {name}, and {wheelhouse} has no {archive.name} to load it from.",
                engine.save(name, str(archive)),
            )
        Display().display(f"{host.host}: {'loading' if wheelhouse else 'pulling'} {name}")
        if wheelhouse:
            self._require_room(engine, host, name, archive)
        done = self._loaded(engine, host, name, archive) if wheelhouse else self._done(engine.pull(name))
        if done["rc"] == 0 and (image := self._known(engine, name)):
            return image
        last = fold_line(find_last_line(done["stderr"] or done["stdout"])).removeprefix("Error: ")
        reason = last[:300].rstrip(".") or f"{engine.path} printed nothing"
        if "no space left on device" in done["stderr"].lower():
            raise Complaint(f"{host.host} has no room for the image {name}: {reason}.", _room(engine))
        if not wheelhouse:
            raise Complaint(
                f"{host.host} cannot pull the image {name}: {reason}.",
                "give the host its network and registry, or load the image there by hand.",
            )
        raise Complaint(
            f"{host.host} did not load {name} from {archive}: {reason}.",
            f"save it again: {engine.save(name, str(archive))}",
        )

    def _require_room(self, engine: Docker, host: HostRecord, name: str, archive: Path) -> None:
        """Require space for the copy of the archive, and for the image, which is no smaller.

        Raises:
            Complaint: there is too little in one of the places.
        """
        cache = shlex.quote(f"{host.root}/{folders.CACHE}")
        command = f'df -Pk {cache} "$({shlex.join(engine.store())})"'
        asked = self._low_level_execute_command(command, sudoable=False)
        needed = archive.stat().st_size >> 10
        for free, place in _FREE.findall(asked["stdout"]):
            if int(free) < needed:
                raise Complaint(
                    f"{host.host} has {int(free) >> 10} MiB free at {place}, and the image {name} has "
                    f"{needed >> 10} MiB.",
                    _room(engine),
                )

    def _loaded(self, engine: Docker, host: HostRecord, name: str, archive: Path) -> dict[str, Any]:
        there = f"{host.root}/{folders.CACHE}/{archive.name}"
        try:
            self._connection.put_file(str(archive), there)
            return self._done(engine.load(there, name))
        finally:
            self._low_level_execute_command(f"rm -f -- {shlex.quote(there)}", sudoable=False)

    def _done(self, words: list[str]) -> dict[str, Any]:
        done: dict[str, Any] = self._low_level_execute_command(shlex.join(words), sudoable=False)
        return done


def _room(engine: Docker) -> str:
    return f"free space there, or remove images that no job needs ({engine.path} image prune)."
