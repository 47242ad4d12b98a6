# SPDX-License-Identifier: Apache-2.0
"""A job over the hosts of a federation: its sites, and what each host is sent."""

import hashlib
import json
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rekindle.gpus.visibility import find_usable_gpus, list_visible_gpus
from rekindle.host import folders
from rekindle.jobs.placement import NoRunError, PlacementError
from rekindle.jobs.preparation import describe_hardware
from rekindle.records import (
    Complaint,
    HostRecord,
    Job,
    RunMember,
    RunSpec,
    Site,
    dump_builtins,
)
from rekindle.records.layout import host_in, plan_in

from .links import foretell_transfers
from .records import (
    KitRecord,
    MemberRecord,
    Participant,
    Transfers,
    kit_in,
    link_in,
    make_member,
    read_participant,
)


class UnreadyHosts(NoRunError):
    """Hosts that the job needs left the playbook before it."""

    verdict = "SKIPPED"


@dataclass(frozen=True)
class Members:
    """The hosts of a federation that take part in a job, by their records."""

    results: Path
    """results/<run>."""
    server: str
    """Inventory name of the server's host."""
    asked: Sequence[str]
    """Inventory names of the sites' hosts."""
    present: Collection[str]
    """The hosts that went through all stages before."""
    min_sites: int
    """Fewest sites with which the job is worth anything; 0 for all."""

    @property
    def hosts(self) -> list[str]:
        """The sites' hosts that take part."""
        return [host for host in self.asked if host in self.present]

    @property
    def least(self) -> int:
        """Fewest sites."""
        return self.min_sites or len(self.asked)

    @cached_property
    def kits(self) -> dict[str, KitRecord]:
        """What each host has from provisioning, the server's first."""
        return {host: kit_in(self.results / host) for host in (self.server, *self.hosts)}

    def sites(self, job: Job) -> tuple[Site, ...]:
        """Return the sites of ``job``, each with all GPUs of its host.

        Raises:
            PlacementError: too few hosts are left, a host has too few GPUs, or releases of NVFlare differ.
        """
        if self.server not in self.present:
            raise UnreadyHosts(
                f"{self.server}, the federation's server, did not get this far.", "See why it left, above."
            )
        if len(self.hosts) < self.least:
            missing = ", ".join(host for host in self.asked if host not in self.present)
            raise UnreadyHosts(
                f"{job.name} needs {self.least} sites, and {missing} did not get this far.",
                "See why they left, or lower rekindle_federation_min_sites.",
            )
        releases = {host: plan_in(self.results / host).nvflare for host in self.kits}
        if len(set(releases.values())) > 1:
            named = ", ".join(f"{host} {release}" for host, release in releases.items())
            raise PlacementError(
                f"The hosts of a federation need one release of NVFlare, and they have {named}.",
                "Set rekindle_nvflare once for all of them.",
            )
        return tuple(self._site(job, host) for host in self.hosts)

    def _site(self, job: Job, name: str) -> Site:
        host: HostRecord = host_in(self.results / name)
        gpus = tuple(list_visible_gpus(host))
        needed = job.example.gpus if job.example else 0
        if len(gpus) < needed:
            raise PlacementError(
                f"{job.name} needs {needed} GPUs and {name} has {len(gpus) or 'none'}.",
                f"Give it a host with {needed} GPUs as a site.",
            )
        ranks = len(gpus) or job.ranks_per_site
        return Site(name=self.kits[name].participant, ranks=ranks, gpus=gpus, node=name)

    def hardware(self) -> dict[str, str]:
        """Return what each host's GPUs run on, and what it asks a batch system for: ``gpu-1 boot`` …

        All hosts have it as an input.
        """
        hosts = [host_in(self.results / name) for name in self.hosts]
        of_hosts = {
            host.host: describe_hardware(host, {gpu.uuid for gpu in find_usable_gpus(host)}) for host in hosts
        }
        for host in hosts:
            if host.allocation:
                asked = dump_builtins(host.allocation)
                room = asked.pop("room")
                of_hosts[host.host][room] = " ".join(f"{name}={of}" for name, of in asked.items() if of)
        return {f"{host} {what}": text for host, of in of_hosts.items() for what, text in of.items()}

    def member(self, host: str) -> RunMember:
        """Return what ``host`` is in the federation."""
        kit, served = self.kits[host], self.kits[self.server]
        names = tuple(self.kits[name].participant for name in self.hosts)
        participant = Participant(
            role=kit.role,
            kit=kit.path,
            admin=kit.admin if kit.role == "server" else None,
            user=kit.user if kit.role == "server" else None,
            address=served.address,
            port=served.port,
            scheme=served.scheme,
            sites=names,
        )
        return make_member(kit.participant, self.least, participant, self._carried())

    def _carried(self) -> Transfers:
        """Return what the links bear, if all were measured.

        Raises:
            PlacementError: one is too slow for any model.
        """
        homes = [self.results / host for host in self.hosts]
        links = {home.name: link_in(home) for home in homes if (home / folders.LINK_RECORD).is_file()}
        if len(links) < len(homes):
            return Transfers()
        try:
            return foretell_transfers(links, self.kits[self.server].release)
        except Complaint as complaint:
            raise PlacementError(complaint.message, complaint.fix) from None


def take_common(spec: RunSpec, payload: str) -> tuple[str, RunSpec]:
    """Return the name of the run of all hosts, and what of a host's ``spec`` is the same on each.

    Args:
        spec: what one host is sent.
        payload: name of the payload, which has the code.
    """
    sites = {site.node for site in spec.sites}
    same = {name: of for name, of in spec.versions.items() if name.rpartition(" ")[0] in sites}
    shared = replace(
        spec,
        nonce="",
        clock=None,
        host=folders.FEDERATIONS,
        gpus=(),
        python="",
        lock_sha256="",
        versions={**same, "nvflare": spec.versions.get("nvflare", "")},
        tmpdir="",
        cache=None,
        cross_device_ops=None,
        member=None,
        allocation=None,
        job=replace(spec.job, limit_s=spec.job.expected_s),  # what a host's lease or allocation leaves of it
    )
    text = msgspec.json.encode(dump_builtins(shared)) + payload.encode()
    if spec.member:
        text += f" {spec.member.min_sites} {read_participant(spec.member).scheme}".encode()
    return f"{spec.job.name}-{hashlib.sha256(text).hexdigest()[:12]}", shared


def find_folder(record: MemberRecord) -> Path:
    """Return the folder of a host's kits, there."""
    return Path(read_participant(record.member).kit).parent


def leave_command(record: MemberRecord) -> str:
    """Return the command of a host's shell that leaves the record beside the host's kits."""
    content, file = json.dumps(dump_builtins(record)), str(find_folder(record) / folders.MEMBER)
    return f"umask 077; echo {shlex.quote(content)} >{shlex.quote(file)}"
