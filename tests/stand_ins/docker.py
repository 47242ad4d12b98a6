# SPDX-License-Identifier: Apache-2.0
"""A stand-in for Docker's command, for what Docker alone prints; it runs no container (`podman` does)."""

import hashlib
import json
import sys
from pathlib import Path

COMMAND = """#!{python}
import json, sys
sys.path.insert(0, {tests!r})
from stand_ins import docker
sys.exit(docker.answer({state!r}, sys.argv[1:]))
"""
LACKS = "Error response from daemon: pull access denied for {}, repository does not exist"


def digest(image):
    """Return what the daemon knows an image by."""
    return f"sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def answer(path, words):
    """Print what Docker prints for ``words``, and return its exit status; the daemon's state is in a file."""
    state = json.loads(Path(path).read_text())
    state["asked"].append(words)
    printed, why = None, f"docker: {words} is not understood"
    match words:
        case ["info", "--format", "{{.DockerRootDir}}"]:
            printed = state["store"]
        case ["info", "--format", _]:
            printed = f"version=29.0.1 runtimes={state['runtimes']}"
        case ["image", "inspect", "--format", "{{.Id}}", name] if name in state["images"]:
            printed = digest(name)
        case ["image", *_, name]:
            why = f"Error response from daemon: No such image: {name}"
        case ["pull", "--quiet", name]:
            why = state["refusal"] or LACKS.format(name)
            printed = name if name in state["registry"] and not state["refusal"] else None
        case ["load", "--input", archive]:
            printed = name = json.loads(Path(archive).read_text())
    if printed and words[0] in {"pull", "load"}:
        state["images"].append(printed)
    Path(path).write_text(json.dumps(state))
    print(why if printed is None else printed, file=sys.stderr if printed is None else sys.stdout)
    return 1 if printed is None else 0


class Docker:
    """What the daemon has and what it was asked, by the names in its state."""

    def __init__(self, bin_folder):
        self.path, self._state = bin_folder / "docker", bin_folder / "state.json"
        bin_folder.mkdir(parents=True)
        words = {"python": sys.executable, "tests": str(Path(__file__).parents[1]), "state": str(self._state)}
        self.path.write_text(COMMAND.format(**words))
        self.path.chmod(0o755)
        state = {"runtimes": "runc", "images": [], "registry": [], "refusal": None, "asked": []}
        self._state.write_text(json.dumps({**state, "store": str(bin_folder)}))

    def __getitem__(self, name):
        return json.loads(self._state.read_text())[name]

    def __setitem__(self, name, value):
        self._state.write_text(json.dumps({**json.loads(self._state.read_text()), name: value}))
