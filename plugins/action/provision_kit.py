"""Action ``provision_kit``: a host's certificate in a federation, made by NVFlare's provisioning."""

import json
import re
import shlex
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from rekindle.actions.base import Action, Failed
from rekindle.actions.limits import limited
from rekindle.federation import certificates
from rekindle.federation.authority import ADMIN, Authority, certificate_in, participant_yaml
from rekindle.federation.placing import leaving
from rekindle.host import folders
from rekindle.jobs import lease
from rekindle.records import KitRecord, MemberRecord, Participant, timestamp, write
from rekindle.records.folders import host_in, plan_in
from rekindle.results import state

_MARKER = "rekindle-kit.json"
"""In a complete kit: what it was made for."""
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----[\s\S]{100,8000}?-----END CERTIFICATE-----")
_MARGIN, _USUAL = timedelta(days=1), timedelta(days=30)
"""A certificate outlives its lease, and lasts where no lease's end is known."""
_KINDS = {"server": ("server",), "site": ("client",), "admin": ("admin", "lead")}


@limited
class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Ensure that the host has a valid kit, and write kit.json; a valid kit stays as it is."""
        self._args = args = json.loads(json.dumps(args))  # without Ansible's tags
        home = Path(args["home"])
        host, release = host_in(home), plan_in(home).nvflare or ""
        server = {name: args[name] for name in ("address", "port", "scheme")}
        authority = Authority(state.folder(), args["federation"], release, server, args["wheelhouse"])
        name = authority.server_name() if args["role"] == "server" else args["site"]
        self._folder = f"{host.root}/{folders.PART}/{args['federation']}"
        self._made_for = {**server, "federation": args["federation"], "release": release}
        until = (lease.ends(home) or datetime.now(timezone.utc) + _MARGIN) + _MARGIN
        changed = self._provide(authority, name, args["role"], until)
        if args["role"] == "server":
            changed = self._provide(authority, ADMIN, "admin", until) or changed
        own, root = self._certificates(name)
        flaw = own.flaw(datetime.now(timezone.utc), datetime.now(timezone.utc))
        if flaw:
            raise Failed(f"The certificate of {name} {flaw}.", "correct the clock of this machine.")
        record = KitRecord(
            host=host.host,
            role=args["role"],
            participant=name,
            release=release,
            path=f"{self._folder}/{name}",
            admin=f"{self._folder}/{ADMIN}" if args["role"] == "server" else None,
            user=ADMIN if args["role"] == "server" else None,
            fingerprint=root.fingerprint,
            not_before=timestamp(own.not_before),
            not_after=timestamp(own.not_after),
            address=args["address"],
            port=args["port"],
            scheme=args["scheme"],
        )
        write(home / folders.KIT_RECORD, record)
        self._leave_member(record)
        return {"changed": changed}

    def _leave_member(self, kit: KitRecord) -> None:
        """Record on the host what it is in the federation, for `rekindle federation`."""
        of_kit = ("role", "admin", "user", "address", "port", "scheme")
        participant = Participant(
            name=kit.participant,
            kit=kit.path,
            sites=(),
            min_sites=0,
            **{name: getattr(kit, name) for name in of_kit},
        )
        args = self._args
        member = MemberRecord(python=args["python"], payload=args["payload"], participant=participant)
        self._run(leaving(member))

    def _provide(self, authority: Authority, name: str, kind: str, until: datetime) -> bool:
        """Ensure that the host has a participant's kit; return whether anything was done."""
        kit, now = f"{self._folder}/{name}", datetime.now(timezone.utc)
        marker = self._run(f"cat {shlex.quote(f'{kit}/{_MARKER}')}", fails=True).strip()
        if marker == json.dumps(self._made_for, sort_keys=True):
            if self._certificates(name)[0].flaw(until, now) is None or not authority.own_keys:
                return False
            return self._renew(authority, name, certificates.days_until(until, now))
        if authority.own_keys:
            self._package(authority, name, kind, max(until, now + _USUAL))
        else:
            self._copy(authority.kit(name, _KINDS[kind][0]), kit)
        marked = shlex.quote(json.dumps(self._made_for, sort_keys=True))
        self._run(f"chmod -R go-rwx {shlex.quote(kit)} && echo {marked} >{shlex.quote(f'{kit}/{_MARKER}')}")
        return True

    def _package(self, authority: Authority, name: str, kind: str, until: datetime) -> None:
        """Make the host create its key and a request, and a kit of the signed answer."""
        folder, request = shlex.quote(self._folder), shlex.quote(f"{self._folder}/requests/{name}")
        definition = shlex.quote(participant_yaml(self._args["federation"], name, _KINDS[kind]))
        self._run(
            f"umask 077; mkdir -p {request} && rm -rf {request} {folder}/{shlex.quote(name)} && "
            f"mkdir -p {folder}/requests && echo {definition} >{request}.yaml && "
            f"{self._nvflare()} cert request --participant {request}.yaml --out {request}"
        )
        days = certificates.days_until(until, datetime.now(timezone.utc))
        with tempfile.TemporaryDirectory() as aside:
            asked = Path(aside, f"{name}.request.zip")
            self._connection.fetch_file(f"{self._folder}/requests/{name}/{name}.request.zip", str(asked))
            signed = authority.sign(asked, name, days)
            there = f"{self._folder}/requests/{name}/{name}.signed.zip"
            self._connection.put_file(str(signed), there)
        packaged = f"{self._folder}/packaged"
        self._run(
            f"umask 077; rm -rf {shlex.quote(packaged)} && {self._nvflare()} package {shlex.quote(there)} "
            f"--request-dir {request} --fingerprint {authority.fingerprint()} -w {shlex.quote(packaged)} && "
            f"mv {shlex.quote(packaged)}/*/prod_*/{shlex.quote(name)} {folder}/ && "
            f"rm -rf {shlex.quote(packaged)}"
        )

    def _renew(self, authority: Authority, name: str, days: int) -> bool:
        """Replace the certificate alone: NVFlare's own renewal would remove all that is in the kit."""
        with tempfile.TemporaryDirectory() as aside:
            asked = Path(aside, f"{name}.request.zip")
            self._connection.fetch_file(f"{self._folder}/requests/{name}/{name}.request.zip", str(asked))
            renewed = certificate_in(authority.sign(asked, name, days)).decode()
        target = shlex.quote(f"{self._folder}/{name}/startup")
        self._run(f"cd {target} && for file in server.crt client.crt; do "
                  f"if [ -e $file ]; then echo {shlex.quote(renewed)} >$file; fi; done")  # fmt: skip
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

    def _certificates(self, name: str) -> tuple[certificates.Certificate, certificates.Certificate]:
        """Return the certificates of a participant and of its authority, as the host has them."""
        startup = shlex.quote(f"{self._folder}/{name}/startup")
        found = _PEM.findall(self._run(f"cd {startup} && cat *.crt rootCA.pem"))
        if len(found) != 2 or not certificates.signed_by(found[0].encode(), found[1].encode()):
            raise Failed(
                f"The kit of {name} in {self._folder} has no certificate of its authority's.",
                f"remove {self._folder}/{name} on the host.",
            )
        return certificates.read(found[0].encode()), certificates.read(found[1].encode())

    def _run(self, command: str, *, fails: bool = False) -> str:
        """Run a command of the host's shell, and return what it printed; ``fails``: it may fail."""
        done = self._low_level_execute_command(command, sudoable=False)
        if done["rc"] and not fails:
            lines = [line for line in (done["stderr"] or done["stdout"]).splitlines() if line.strip()]
            reason = lines[-1][:300] if lines else f"status {done['rc']}"
            raise Failed(f"The host could not make its part of a kit: {reason}", "see what it names.")
        return "" if done["rc"] else str(done["stdout"])
