# SPDX-License-Identifier: Apache-2.0
"""Module ``retire``: on the host, packs what is worth keeping of Rekindle, or removes all of it."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rekindle.flare.plugins.module_utils.rekindle.host.leftovers import (
    end_processes,
    find_running,
)
from ansible_collections.rekindle.flare.plugins.module_utils.rekindle.retire.removal import (
    RetireError,
    find_own_root,
    pack_last_copy,
    remove_root,
)

with suppress(ImportError):  # a room may be left out; its queue is sent with this module, for jobs in it
    from ansible_collections.rekindle.flare.plugins.module_utils.rekindle.slurm import queue  # noqa: F401

DOCUMENTATION = """
module: retire
short_description: Copy what is worth keeping to the controller, and remove Rekindle from the host
description:
  - A host on which a job still runs is left alone unless O(stop) is set.
options:
  root: {description: Rekindle's folder on the host., type: str, required: true}
  stop: {description: "Whether jobs that still run are ended, judged and kept.", type: bool, required: true}
  dest: {description: Folder of the host's records on the controller., type: str, required: true}
  python: {description: Python on the host., type: str, required: true}
"""


def _packed(module: AnsibleModule, root: Path) -> dict[str, Any]:
    """Return the archives of a host on which nothing runs any more."""
    names = find_running(root)
    if module.check_mode:
        return {"changed": True}
    if names and not module.params["stop"]:
        raise RetireError(
            f"{' and '.join(names)} still runs on the host, and nothing was touched. "
            "Fix: have site.yml follow it to its end, or have it ended, judged and kept: -e stop=true."
        )
    if names:
        end_processes(root)
    packed: dict[str, Any] = pack_last_copy(root)
    return packed


def main() -> None:
    """Run ``verb``; a host without Rekindle is left unchanged."""
    arguments = {
        "root": {"required": True},
        "stop": {"type": "bool", "required": True},
        "verb": {"choices": ["pack", "remove"], "required": True},
    }
    module = AnsibleModule(arguments, supports_check_mode=True)
    try:
        root = find_own_root(module.params["root"])
        if root is None:
            module.exit_json(changed=False)
        if module.params["verb"] == "pack":
            module.exit_json(root=str(root), **_packed(module, root))
        remove_root(root)
        module.exit_json(changed=True)
    except RetireError as error:
        module.fail_json(str(error))


if __name__ == "__main__":
    main()
