# SPDX-License-Identifier: Apache-2.0
"""What in a job's own files cannot work on a host, whichever: seen before anything starts."""

from collections.abc import Iterator

from rekindle.flare import moved
from rekindle.records import Complaint

from .source import Source

_ELSEWHERE = {"PocEnv": "NVFlare's proof of concept", "ProdEnv": "a federation that runs elsewhere"}
_HERE = frozenset({"SimEnv", "simulator_run", "SimulatorRunner"})


def elsewhere(source: Source) -> Complaint | None:
    """Return that the job runs in a federation of NVFlare's own, of which its run's folder has nothing."""
    calls = list(source.calls)
    if any(call.name in _HERE for call in calls):
        return None
    for call in calls:
        if call.name in _ELSEWHERE:
            sites = source.given("num_clients", [call.name])
            count = sites[0].value if sites and isinstance(sites[0].value, int) else 2
            what = f"runs the job in {_ELSEWHERE[call.name]}, outside the run's folder"
            return Complaint(
                f"{source.folder / call.at} calls {call.name}, which {what}.",
                f"write SimEnv(num_clients={count}) there, and from nvflare.recipe import SimEnv.",
            )
    return None


def of_another_release(source: Source, release: str) -> Iterator[Complaint]:
    """Yield each line that an NVFlare of this ``release`` has no more."""
    known = {one.name: f"{one.module}.{one.name}" for one in source.imports if one.name}
    for one in (one for one in source.imports if not one.optional and _of_nvflare(one.module)):
        yield from _at(one.at, moved.gone(one.module, release))
        yield from _at(one.at, moved.gone(f"{one.module}.{one.name}", release) if one.name else None)
    for call in (call for call in source.calls if _of_nvflare(known.get(call.name, ""))):
        for argument in call.keywords:
            yield from _at(call.at, moved.gone(known[call.name], release, argument))
    for configuration in source.configurations:
        for path in filter(_of_nvflare, configuration.classes):
            yield from _at(configuration.name, moved.gone(path, release))


def _of_nvflare(module: str) -> bool:
    return module.partition(".")[0] == "nvflare"


def _at(place: str, complaint: Complaint | None) -> Iterator[Complaint]:
    if complaint:
        yield Complaint(f"{place}: {complaint.message}", complaint.fix)
