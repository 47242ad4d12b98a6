"""Action ``inspect_environments``: which planned environments a host has; nothing is changed there."""

from pathlib import Path
from typing import Any

from rekindle.actions.base import Action
from rekindle.actions.limits import limited
from rekindle.capsule.sizes import to_fetch
from rekindle.capsule.specs import specs_in
from rekindle.host import folders
from rekindle.hostfacts import frames
from rekindle.records import StandingRecord, write


@limited
class ActionModule(Action):
    """plugins/modules has its documentation."""

    _supports_check_mode = True

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Ask the host, and write standing.json."""
        home = Path(args["folder"])
        host, specs = specs_in(home, args["capsule"])
        root = Path(host.root)
        built = {spec["name"]: folders.marker(root, spec["name"], spec["lock_sha256"]) for spec in specs}
        found = frames.there(self._low_level_execute_command, host.host, "environments", built)
        standing = tuple(name for name in built if found[name].answered)
        missing = [spec for spec in specs if spec["name"] not in standing]
        wheels_mb = fetch_mb = None
        if args["wheelhouse"]:
            kept = {Path(args["wheelhouse"], spec["lock_sha256"][:12]) for spec in missing}
            wheels = (path for folder in kept for path in folder.glob("*"))
            wheels_mb = round(sum(path.stat().st_size for path in wheels) / 1e6)
        elif (size := to_fetch(missing, host)) is not None:
            fetch_mb = round(size / 1e6)
        record = StandingRecord(host=host.host, standing=standing, wheels_mb=wheels_mb, fetch_mb=fetch_mb)
        write(home / folders.STANDING_RECORD, record)
        return {"changed": False}
