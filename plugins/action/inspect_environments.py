"""Action ``inspect_environments``: which planned environments a host has; nothing is changed there."""

import secrets
from pathlib import Path
from typing import Any

from rekindle.actions.base import Action, Failed
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
        there = {spec["name"]: folders.marker(root, spec["name"], spec["lock_sha256"]) for spec in specs}
        standing = self._standing(there, host.host)
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

    def _standing(self, there: dict[str, Path], host: str) -> tuple[str, ...]:
        nonce = secrets.token_hex(8)
        commands = [frames.there(path, name, nonce) for name, path in there.items()]
        answer = self._low_level_execute_command(f"{'; '.join(commands)}; printf '@@{nonce} end 0\\n'")
        try:
            parsed = frames.parse(answer["stdout"], nonce)
            return tuple(name for name in there if parsed[name].answered)
        except frames.FactsError:
            message = f"{host} does not list its environments."
            raise Failed(message, "see that its login shell runs sh.") from None
