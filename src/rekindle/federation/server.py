# SPDX-License-Identifier: Apache-2.0
"""A job in a federation over hosts: what a job.py does there in place of NVFlare's simulator.

The same job.py runs on every host of the federation, up to where it would start the simulator. At the server
it then starts NVFlare's server, submits the job once all sites are there, follows it to its end, and lays the
results where the simulator would have. At a site it becomes ``rekindle.federation.site``.
"""

import json
import os
import shutil
import socket
import sys
import time
import traceback
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from .member import read_member
from .parent import Parent, move_logs

_POLL_S = 0.5
_LISTENS_S = 60.0
_JOINS_S = 300.0
"""For the sites: their hosts first make what the job needs there."""
_LOGIN_S = 10.0
_STORED_S = 30.0
_LEAVES_S = 20.0
_GRACE = {"dead_client_grace_period": 10.0, "dead_client_check_lead_time": 5.0}
"""How soon a job ends without a site that it needs; NVFlare's own grace is 60 s."""


class FederationError(RuntimeError):
    """The job did not run to its end; one sentence."""


def run_job(job: Any, workspace: str, *_: Any, clients: list[str] | None = None, **__: Any) -> int:
    """Run a FedJob in the federation; takes what FedJob.simulator_run does, and returns 0.

    A failure ends the process at once: NVFlare's sessions leave threads that would keep it alive.
    """
    mine = read_member()
    if clients:
        job.clients = clients
    if mine["role"] == "site":
        os.execv(sys.executable, [sys.executable, "-u", "-m", "rekindle.federation.site", job.name])
    try:
        _run(job, Path(workspace), mine)
    except FederationError as error:
        _end(str(error))
    except Exception:
        traceback.print_exc()
        _end("NVFlare's server could not be used.")
    return 0


def _end(message: str) -> NoReturn:
    print(message, file=sys.stderr, flush=True)
    os._exit(1)


def _run(job: Any, workspace: Path, mine: Mapping[str, Any]) -> None:
    exported = Path("exported").absolute()
    job.export_job(str(exported))
    _settle(exported / job.name, mine)
    with Parent(mine) as server, _admin(mine):
        _await_port(server, mine["port"])
        with _session(mine) as session:
            started = time.time()
            _await_sites(session, server, mine, started)
            identity = session.submit_job(str(exported / job.name))
            print(f"The job {job.name} was submitted as {identity}.", flush=True)
            try:
                status = _followed(session, server, identity)
                with suppress(Exception):  # sites end without their server too, later
                    _await_ends(session, identity)
                    session.shutdown("all")
                server.wait(_LEAVES_S)
            finally:
                _bring(server, identity, workspace)
    if status != "FINISHED:COMPLETED":
        raise FederationError(f"NVFlare ended the job {job.name} as {status}.")


def _settle(folder: Path, mine: Mapping[str, Any]) -> None:
    """Make the exported job end soon without a site that it needs, or on links too slow for its model."""
    meta = folder / "meta.json"
    content = json.loads(meta.read_text(encoding="utf-8"))
    meta.write_text(json.dumps({**content, "min_clients": mine["min_sites"]}), encoding="utf-8")
    for path in folder.rglob("config_fed_server.json"):
        config = json.loads(path.read_text(encoding="utf-8"))
        for flow in config.get("workflows", ()):
            given = flow.get("args", {})
            if "min_clients" in given and mine["min_sites"] < len(mine["sites"]):
                given["min_clients"] = mine["min_sites"]
        path.write_text(json.dumps({**_GRACE, **config}), encoding="utf-8")


def _require(server: Parent) -> None:
    """Require that the server runs.

    Raises:
        FederationError: it ended.
    """
    if server.poll() is not None:
        why = server.has_ended("NVFlare's server")
        raise FederationError(why or "NVFlare's server ended before its job did.")


def _await_port(server: Parent, port: int) -> None:
    """Wait until the server listens: a session with one that does not leaves a thread that never ends."""
    ends = time.monotonic() + _LISTENS_S
    while time.monotonic() < ends:
        _require(server)
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(_POLL_S)
    raise FederationError(f"NVFlare's server did not listen at port {port} within {_LISTENS_S:.0f} s.")


@contextmanager
def _admin(mine: Mapping[str, Any]) -> Iterator[None]:
    folder = Parent.prepare(mine["admin"])
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _session(mine: Mapping[str, Any]) -> Iterator[Any]:
    from nvflare.fuel.flare_api.flare_api import new_secure_session  # noqa: PLC0415 - it takes NVFlare

    session = new_secure_session(mine["user"], f"{mine['admin']}.run", timeout=_LOGIN_S)
    try:
        yield session
    finally:
        session.close()


def ask_connected(mine: Mapping[str, Any]) -> dict[str, float]:
    """Return the sites connected to the server of this host, and when it last heard from each, since 1970."""
    with _admin(mine), _session(mine) as session:
        clients = session.get_system_info().client_info
        return {client.name: client.last_connect_time for client in clients}


def _await_sites(session: Any, server: Parent, mine: Mapping[str, Any], started: float) -> None:
    """Wait for all sites; after a while, for as many as the job needs.

    Raises:
        FederationError: too few came.
    """
    wanted, shown, ends = set(mine["sites"]), "", time.monotonic() + _JOINS_S
    while True:
        _require(server)
        clients = session.get_system_info().client_info
        here = {client.name for client in clients if client.last_connect_time >= started - _LISTENS_S}
        missing = sorted(wanted - here)
        if not missing:
            return
        if time.monotonic() > ends:
            if len(wanted & here) >= mine["min_sites"]:
                print(f"The job runs without {', '.join(missing)}, which did not join.", flush=True)
                return
            raise FederationError(f"{', '.join(missing)} did not join the federation.")
        message = f"Waiting for {', '.join(missing)}."
        if message != shown:
            print(message, flush=True)
            shown = message
        time.sleep(_POLL_S)


def _followed(session: Any, server: Parent, identity: str) -> str:
    """Return the status with which the job ended."""
    status = shown = ""
    while not status.startswith("FINISHED"):
        _require(server)
        status = _status(session, server, identity)
        if status != shown:
            print(f"The job is {status}.", flush=True)
            shown = status
        time.sleep(_POLL_S)
    return status


def _await_ends(session: Any, identity: str) -> None:
    """Wait until no site has a process of the job any more, whose log a shutdown would cut; not for ever."""
    ends = time.monotonic() + _LEAVES_S
    while time.monotonic() < ends:
        if not any(job.get("job_id") == identity for job in session.get_client_job_status() or ()):
            return
        time.sleep(_POLL_S)


def _status(session: Any, server: Parent, identity: str) -> str:
    try:
        return str(session.get_job_meta(identity).get("status", ""))
    except Exception:
        server.wait(_LOGIN_S)  # a session that breaks is how its end shows first
        _require(server)
        raise


def _bring(server: Parent, identity: str, workspace: Path) -> None:
    """Lay the server's files of a job where the simulator would have: its job store keeps them packed."""
    folder = server.folder
    stored = folder / "jobs" / identity / "workspace"
    ends = time.monotonic() + _STORED_S
    while not stored.exists() and server.poll() is None and time.monotonic() < ends:
        time.sleep(_POLL_S)
    aside = folder / "stored"
    if stored.is_file():
        with zipfile.ZipFile(stored) as archive:
            archive.extractall(aside)
    elif (folder / identity).is_dir():
        shutil.move(folder / identity, aside)
    move_logs(aside, workspace / "server")
