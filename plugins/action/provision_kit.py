# SPDX-License-Identifier: Apache-2.0
"""Action ``provision_kit``: a host's certificate in a federation, made by NVFlare's provisioning."""

import json
import shlex
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from rekindle.actions.base import Action, strip_tags
from rekindle.actions.limits import fetch_file, limit_action
from rekindle.federation import certificates
from rekindle.federation.authority import ADMIN, Authority, identify_lease, read_certificate
from rekindle.federation.certificates import Certificate
from rekindle.federation.placement import leave_command
from rekindle.federation.records import KitRecord, MemberRecord, Participant, make_member
from rekindle.federation.request import LIMIT
from rekindle.host import folders
from rekindle.jobs import lease
from rekindle.records import Complaint, format_time, write_record
from rekindle.records.layout import host_in, plan_in
from rekindle.records.text import find_last_line
from rekindle.results import state

_MARKER = "rekindle-kit.json"
"""In a complete kit: what it was made for."""
_LONGEST = 16_384
"""Of a certificate, in bytes."""
_MARGIN, _USUAL = timedelta(days=1), timedelta(days=30)
"""A certificate outlives its lease, and lasts where no lease's end is known."""


@limit_action
class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Ensure that the host has a valid kit, and write kit.json; a valid kit stays as it is."""
        self._args = args = strip_tags(args)
        home = Path(args["home"])
        host, release = host_in(home), plan_in(home).nvflare
        server = {name: args[name] for name in ("address", "port", "scheme")}
        authority = Authority(
            *(state.make_state_folder(), args["federation"], release, server, args["wheelhouse"]),
            lease=identify_lease(home.parent, args["hosts"]),
        )
        name = authority.server_name() if args["role"] == "server" else args["site"]
        if args["role"] == "site" and authority.kind(name) != "client":
            raise Complaint(f"A site has the name {name}, which is the server's or the administrator's.",
                         "rename the host of this site in the inventory.")  # fmt: skip
        self._folder = f"{host.root}/{folders.PART}/{args['federation']}"
        root = certificates.parse_certificate(authority.root())
        self._made_for = {
            **server, "federation": args["federation"], "release": release, "authority": root.fingerprint
        }  # fmt: skip
        until = (lease.find_end(home) or datetime.now(timezone.utc) + _MARGIN) + _MARGIN
        changed = self._provide(authority, name, until)
        if args["role"] == "server":
            changed = self._provide(authority, ADMIN, until) or changed
        own = self._certificate(authority, name)
        flaw = own.flaw(datetime.now(timezone.utc), datetime.now(timezone.utc))
        if flaw:
            raise Complaint(f"The certificate of {name} {flaw}.", "correct the clock of this machine.")
        record = KitRecord(
            host=host.host,
            role=args["role"],
            participant=name,
            release=release,
            path=f"{self._folder}/{name}",
            admin=f"{self._folder}/{ADMIN}" if args["role"] == "server" else None,
            user=ADMIN if args["role"] == "server" else None,
            fingerprint=root.fingerprint,
            not_before=format_time(own.not_before),
            not_after=format_time(own.not_after),
            address=args["address"],
            port=args["port"],
            scheme=args["scheme"],
        )
        write_record(home / folders.KIT_RECORD, record)
        self._leave_member(record)
        return {"changed": changed}

    def _leave_member(self, kit: KitRecord) -> None:
        """Record on the host what it is in the federation, for `rekindle federate --status`."""
        of_kit = ("role", "admin", "user", "address", "port", "scheme")
        given = {name: getattr(kit, name) for name in of_kit}
        participant = Participant(kit=kit.path, sites=(), **given)
        args = self._args
        member = make_member(kit.participant, 0, participant)
        self._run(leave_command(MemberRecord(python=args["python"], payload=args["payload"], member=member)))

    def _provide(self, authority: Authority, name: str, until: datetime) -> bool:
        """Ensure that the host has a participant's kit; return whether anything was done."""
        kit, now = f"{self._folder}/{name}", datetime.now(timezone.utc)
        marker = self._run(f"cat {shlex.quote(f'{kit}/{_MARKER}')}", fails=True).strip()
        if marker == json.dumps(self._made_for, sort_keys=True):
            if self._certificate(authority, name).flaw(until, now) is None or not authority.own_keys:
                return False
            return self._renew(authority, name, certificates.count_days(until, now))
        if authority.own_keys:
            self._package(authority, name, max(until, now + _USUAL))
        else:
            self._copy(authority.kit(name, authority.kind(name)), kit)
        marked = shlex.quote(json.dumps(self._made_for, sort_keys=True))
        self._run(f"chmod -R go-rwx {shlex.quote(kit)} && echo {marked} >{shlex.quote(f'{kit}/{_MARKER}')}")
        return True

    def _package(self, authority: Authority, name: str, until: datetime) -> None:
        """Make the host create its key and a request, and a kit of the signed answer."""
        folder, request = shlex.quote(self._folder), shlex.quote(f"{self._folder}/requests/{name}")
        definition = shlex.quote(authority.definition(name))
        self._run(
            f"umask 077; mkdir -p {request} && rm -rf {request} {folder}/{shlex.quote(name)} && "
            f"mkdir -p {folder}/requests && echo {definition} >{request}.yaml && "
            f"{self._nvflare()} cert request --participant {request}.yaml --out {request}"
        )
        signed = self._sign(authority, name, certificates.count_days(until, datetime.now(timezone.utc)))
        there = f"{self._folder}/requests/{name}"
        self._connection.put_file(str(signed), f"{there}/{name}.signed.zip")
        described = signed.with_name(f"{name}.request.json")
        self._connection.put_file(str(described), f"{there}/request.json")
        packaged = f"{self._folder}/packaged"
        self._run(
            f"umask 077; rm -rf {shlex.quote(packaged)} && "
            f"{self._nvflare()} package {shlex.quote(f'{there}/{name}.signed.zip')} "
            f"--request-dir {request} --fingerprint {authority.fingerprint()} -w {shlex.quote(packaged)} && "
            f"mv {shlex.quote(packaged)}/*/prod_*/{shlex.quote(name)} {folder}/ && "
            f"rm -rf {shlex.quote(packaged)}"
        )

    def _sign(self, authority: Authority, name: str, days: int) -> Path:
        """Return the signed answer to the host's request, of which its key alone is taken."""
        with tempfile.TemporaryDirectory() as aside:
            asked = Path(aside, "request.zip")
            there = f"{self._folder}/requests/{name}/{name}.request.zip"
            fix = "look at the host: it is broken, or not honest."
            fetch_file(self._connection, there, str(asked), LIMIT, fix)
            return authority.sign(asked, name, days)

    def _renew(self, authority: Authority, name: str, days: int) -> bool:
        """Replace the certificate alone: NVFlare's own renewal would remove all that is in the kit."""
        renewed = read_certificate(self._sign(authority, name, days)).decode()
        self._run(f"echo {shlex.quote(renewed)} >{shlex.quote(self._shown_at(authority, name))}")
        return True

    def _copy(self, packed: bytes, kit: str) -> None:
        there, target = shlex.quote(f"{kit}.tar.gz"), shlex.quote(kit)
        self._run(f"umask 077; mkdir -p {shlex.quote(self._folder)} && rm -rf {target} && mkdir {target}")
        with tempfile.NamedTemporaryFile() as archive:
            archive.write(packed)
            archive.flush()
            self._connection.put_file(archive.name, f"{kit}.tar.gz")
        self._run(f"umask 077; tar -xzf {there} -C {target} --no-same-owner; rm -f {there}")

    def _nvflare(self) -> str:
        """Return NVFlare's command on the host, which keeps its records in our folder."""
        python = shlex.quote(self._args["python"])
        return f"HOME={shlex.quote(self._folder)} {python} -m nvflare.cli --format json"

    def _certificate(self, authority: Authority, name: str) -> Certificate:
        """Return the certificate that the host has, which must be this authority's for ``name``."""
        shown = self._run(f"head -c {_LONGEST} {shlex.quote(self._shown_at(authority, name))}")
        return authority.require(shown[:_LONGEST].encode(), name)

    def _shown_at(self, authority: Authority, name: str) -> str:
        """Return the path of a participant's certificate on the host."""
        server = authority.kind(name) == "server"
        return f"{self._folder}/{name}/startup/{'server' if server else 'client'}.crt"

    def _run(self, command: str, *, fails: bool = False) -> str:
        """Run a command of the host's shell, and return what it printed; ``fails``: it may fail."""
        done = self._low_level_execute_command(command, sudoable=False)
        if done["rc"] and not fails:
            reason = find_last_line(done["stderr"] or done["stdout"])[:300] or f"status {done['rc']}"
            raise Complaint(f"The host could not make its part of a kit: {reason}", "see what it names.")
        return "" if done["rc"] else str(done["stdout"])
