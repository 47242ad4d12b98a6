# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.reach listen FOLDER JSON``, ``… end FOLDER`` and ``… probe JSON``, on hosts.

``listen`` leaves a listener behind that ends by itself, by ``end``, or when ``FOLDER``, which has its lock,
is removed. JSON has ``kit``, ``port`` and ``limit_s``; for ``probe`` also ``address`` and
``release``. Each prints one line of JSON: what it found, or ``message`` and ``fix``.
"""

import fcntl
import json
import os
import select
import sys
import time
from pathlib import Path
from typing import Any

from rekindle.host import background, files, storage
from rekindle.host.look import take_lock

from . import Trouble
from .kit import Kit
from .listener import Listener, is_served
from .probe import Probe

_LIMIT_S = 20.0
"""For a listener, to start or to end."""
_LOOK_S = 0.05


def start_listener(folder: Path, asked: str) -> bool:
    """Start a listener in place of any before, unless NVFlare's server runs there with the same kit.

    Returns:
        Whether that server runs, which is proof enough of the way to it.

    Raises:
        Trouble: it cannot listen.
    """
    if is_served(json.loads(asked)["kit"]):
        return True
    end_listener(folder)
    storage.make_folder(folder)
    with background.hold_lock(folder / "lock") as lock:
        if lock is None:
            raise Trouble(f"Another play starts a listener in {folder}.", "run again when it has ended.")
        command = [sys.executable, "-m", "rekindle.reach", "serve", str(folder), asked]
        output, to = os.pipe()
        with open(output, "rb") as answers, open(to, "wb") as log:  # noqa: PTH123 - descriptors
            background.spawn_command(command, log, pass_fds=[lock.fileno()])
            log.close()
            line = answers.readline(1 << 16) if select.select([answers], [], [], _LIMIT_S)[0] else b""
            if not line.startswith(b"{"):
                why = (line + answers.read(1 << 16)).decode("utf-8", "replace")[-500:] if line else "it hangs"
                raise Trouble(f"The listener did not start: {why}", "see whether its environment still runs.")
    answer = json.loads(line)
    if "message" in answer:
        raise Trouble(answer["message"], answer["fix"])
    return False


def serve_listener(folder: Path, asked: dict[str, Any]) -> None:
    """Listen, and report it.

    Raises:
        Trouble: it cannot listen.
    """
    lock = folder / "lock"
    mine = lock.stat().st_ino

    def goes_on() -> bool:
        try:
            return lock.stat().st_ino == mine
        except OSError:
            return False

    with Listener(Kit(Path(asked["kit"]), "server"), asked["port"]) as listener:
        print("{}", flush=True)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        listener.serve(asked["limit_s"], goes_on)


def end_listener(folder: Path) -> None:
    """End the listener, if there is one; returns when its port is free.

    Raises:
        Trouble: it does not end.
    """
    lock, ends = folder / "lock", time.monotonic() + _LIMIT_S
    try:
        stream = files.open_file(lock)
    except (FileNotFoundError, NotADirectoryError):
        return
    with stream:
        lock.unlink(missing_ok=True)
        while not take_lock(stream, fcntl.LOCK_SH):
            if time.monotonic() > ends:
                raise Trouble(f"The listener of {folder} does not end.", "end it by hand.")
            time.sleep(_LOOK_S)


def probe_links(asked: dict[str, Any]) -> dict[str, float | str]:
    """Return what the probe finds.

    Raises:
        Trouble: something is wrong with the way to the server.
    """
    kit = Kit(Path(asked["kit"]), "client")
    way = Probe(kit, asked["address"], asked["port"], asked["release"], asked["limit_s"])
    return way.look()


def main() -> int:
    """Run the verb that the command line names."""
    os.umask(0o077)
    verb, given = sys.argv[1], sys.argv[2:]
    answer: dict[str, Any] = {}
    try:
        if verb == "serve":
            serve_listener(Path(given[0]), json.loads(given[1]))
        elif verb == "listen":
            answer = {"running": True} if start_listener(Path(given[0]), given[1]) else {}
        elif verb == "end":
            end_listener(Path(given[0]))
        else:
            answer = dict(probe_links(json.loads(given[0])))
    except Trouble as trouble:
        answer = {"message": trouble.message, "fix": trouble.fix}
    print(json.dumps(answer), flush=True)
    return 1 if "message" in answer else 0


if __name__ == "__main__":
    sys.exit(main())
