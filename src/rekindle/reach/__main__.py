"""``python -m rekindle.reach listen FOLDER JSON``, ``… end FOLDER`` and ``… probe JSON``, on hosts.

``listen`` leaves a listener behind that ends by itself, by ``end``, or when ``FOLDER``, which has its lock,
is removed. JSON has ``kit``, ``port`` and ``limit_s``; for ``probe`` also ``address``, ``clock_s`` and
``release``.
Each prints one line of JSON: what it found, or ``says`` and ``fix``.
"""

import fcntl
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from rekindle.host import detached, files, folders, own
from rekindle.host.look import held, taken

from . import Trouble
from .kit import Kit
from .listener import Listener
from .probe import Probe

_LOCK, _LOG = "lock", "log.txt"
_STARTS_S = 20.0
_ENDS_S = 20.0
_LOOK_S = 0.05
_LIMIT = 1 << 16


def listen(folder: Path, asked: str) -> dict[str, Any]:
    """Start a listener in place of any before; returns when it listens.

    Raises:
        Trouble: it cannot listen.
    """
    end(folder)
    own.make_folder(folder)
    record, lock = folder / folders.PROGRESS, folder / _LOCK
    record.unlink(missing_ok=True)
    with detached.locked(lock) as stream:
        if stream is None:
            raise Trouble(f"Another play starts a listener in {folder}.", "run again when it has ended.")
        detached.start(["rekindle.reach", "serve", str(folder), asked], stream, folder / _LOG)
    ends = time.monotonic() + _STARTS_S
    while time.monotonic() < ends:
        alive = held(lock)
        if record.exists():
            said = json.loads(files.content(record, _LIMIT))
            if said["state"] == "failed":
                raise Trouble(said["says"], said["result"]["fix"])
            return {}
        if not alive:
            break
        time.sleep(_LOOK_S)
    said = files.end(folder / _LOG, 500).decode("utf-8", "replace")
    raise Trouble(f"The listener did not start: {said}", f"see {folder / _LOG} on the host.")


def serve(folder: Path, asked: dict[str, Any]) -> None:
    """Listen, and record it."""
    lock, record = folder / _LOCK, folder / folders.PROGRESS
    mine = lock.stat().st_ino

    def goes_on() -> bool:
        try:
            return lock.stat().st_ino == mine
        except OSError:
            return False

    try:
        with Listener(Kit(Path(asked["kit"]), "server"), asked["port"]) as listener:
            detached.write_progress(record, "running", "listens", 0)
            listener.serve(asked["limit_s"], goes_on)
    except Trouble as trouble:
        detached.write_progress(record, "failed", trouble.message, 0, result={"fix": trouble.fix})


def end(folder: Path) -> dict[str, Any]:
    """End the listener, if there is one; returns when its port is free.

    Raises:
        Trouble: it does not end.
    """
    lock = folder / _LOCK
    try:
        stream = files.opened(lock)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    with stream:
        lock.unlink(missing_ok=True)
        ends = time.monotonic() + _ENDS_S
        while not taken(stream, fcntl.LOCK_SH):
            if time.monotonic() > ends:
                raise Trouble(f"The listener of {folder} does not end.", "end it by hand: fuser " + str(lock))
            time.sleep(_LOOK_S)
    return {}


def probe(asked: dict[str, Any]) -> dict[str, Any]:
    """Return what the probe finds.

    Raises:
        Trouble: something is wrong with the way to the server.
    """
    kit = Kit(Path(asked["kit"]), "client")
    way = Probe(kit, asked["address"], asked["port"], asked["clock_s"], asked["release"], asked["limit_s"])
    return dict(way.look())


def main() -> int:
    """Run the verb that the command line names."""
    os.umask(0o077)
    verb, given = sys.argv[1], sys.argv[2:]
    try:
        if verb == "serve":
            serve(Path(given[0]), json.loads(given[1]))
            return 0
        if verb == "listen":
            answer = listen(Path(given[0]), given[1])
        elif verb == "end":
            answer = end(Path(given[0]))
        else:
            answer = probe(json.loads(given[0]))
    except Trouble as trouble:
        answer = {"says": trouble.message, "fix": trouble.fix}
    print(json.dumps(answer), flush=True)
    return 1 if "says" in answer else 0


if __name__ == "__main__":
    sys.exit(main())
