"""The result of ``--check``, for a terminal."""

from collections.abc import Iterator

from rekindle.records.text import duration, printed
from rekindle.results.check import CheckData, HostCheck
from rekindle.results.gather import NO_HOSTS

from .plan import plan_lines


def check_text(checked: CheckData) -> str:
    """Return the lines."""
    if not checked.hosts:
        return NO_HOSTS
    return "\n".join(printed(line) for host in checked.hosts for line in _lines(host))


def _lines(host: HostCheck) -> Iterator[str]:
    yield f"{host.host}: {host.word}{f': {host.cause}' if host.cause else ''}"
    for environment in host.environments:
        head, *more = plan_lines(environment.planned)
        there = {True: "; it is there already", False: "; it is to be built", None: ""}
        yield f"  {head}{there[environment.there] if environment.planned.build else ''}"
        yield from (f"  {line}" for line in more)
    if host.wheels_mb is not None:
        yield f"  wheels to bring: at most {host.wheels_mb} MB"
    if host.fetch_mb is not None:
        yield f"  to fetch from the package index: at most {host.fetch_mb} MB"
    elif host.wheels_mb is None and any(environment.there is not None for environment in host.environments):
        yield "  to fetch from the package index: unknown, as the capsule is of another version of Rekindle"
    for number, job in enumerate(host.jobs, 1):
        inside = f", in {job.container}" if job.container else ""
        what = f": {job.refusal}" if job.refusal else f"{inside}, about {duration(job.about_s)}"
        late = ", for which the time is too short" if job.in_time is False else ""
        yield f"  job {number}, {job.job}{'' if job.required else ' (not required)'}{what}{late}"
    if host.lease_left_s is not None:
        enough = "long enough for all jobs" if host.lease_suffices else "not long enough for all jobs"
        yield f"  lease: {duration(host.lease_left_s)} left, {enough}, without the time to build"
