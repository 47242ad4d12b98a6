# SPDX-License-Identifier: Apache-2.0
"""The time that is left of a lease, and how much of it a job may use."""

import math
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

from rekindle.host import folders, queues
from rekindle.records import (
    Allocation,
    Job,
    LeaseRecord,
    RecordError,
    Timestamp,
    format_time,
    parse_time,
    write_record,
)
from rekindle.records.layout import lease_in, play_in

from .placement import NoRunError

COLLECTION_SHARE = 0.1
"""Of the time that is left, kept for collecting results."""
_COLLECTION_S = 60
"""The least to keep of a lease."""
_NOTICE_S = queues.NOTICE_S + 60
"""The least to keep of an allocation, as a batch system may ask its job to end so long before its end."""
_UNITS = {"s": 1, "m": 60, "h": 3600}


class TooLateError(NoRunError):
    """There is not enough time for the job."""

    verdict = "SKIPPED"


def find_deadline(lease_ends: str, budget: str, started: datetime) -> datetime | None:
    """Return when everything has to be collected; None if that is not set.

    Args:
        lease_ends: a time as ISO 8601, by default in this machine's zone.
        budget: a length such as ``45m``, ``1h30m`` or ``90s``, from ``started``.
        started: start of the playbook, with its zone.

    Raises:
        RecordError: one of them is not such a text.
    """
    times = []
    try:
        if lease_ends:
            times.append(datetime.fromisoformat(lease_ends).astimezone())
    except (ValueError, OverflowError):
        fix = "write it as 2026-11-21T18:00, or with a zone."
        raise RecordError(f"lease_ends {lease_ends!r} is not a time.", fix) from None
    if budget:
        times.append(_after(started, "budget", budget))
    return min(times, default=None)


def find_oldest(max_age: str, now: datetime) -> Timestamp | None:
    """Return when a PASS was judged at the earliest to be kept ``now``; None if any is.

    Raises:
        RecordError: ``max_age`` is neither empty nor a length of time.
    """
    return format_time(_after(now, "max_age", max_age, -1)) if max_age else None


def _after(time: datetime, name: str, length: str, sign: int = 1) -> datetime:
    """Return the time a length such as ``1h30m`` after another, or before it."""
    try:
        parts = re.findall(r"(\d{1,15})([hms])", length)
        if not parts or "".join(map("".join, parts)) != length:
            raise ValueError(length)
        return time + sign * timedelta(seconds=sum(int(count) * _UNITS[unit] for count, unit in parts))
    except (ValueError, OverflowError):
        fix = "write it as 45m, 1h30m or 90s."
        raise RecordError(f"{name} {length!r} is not a length of time.", fix) from None


def find_start(results: Path, host: str) -> datetime | None:
    """Return when the playbook that works on ``host`` started; None if it is not ours.

    Raises:
        RecordError: run.json is broken.
    """
    path = results / folders.PLAY_RECORD
    began = play_in(results).latest.get(host) if path.exists() else None
    return parse_time(began) if began else None


def write_lease(home: Path, host: str, started: datetime, ends: datetime | None) -> None:
    """Write lease.json into the host's folder of results."""
    record = LeaseRecord(host=host, started=format_time(started), ends=format_time(ends) if ends else None)
    write_record(home / folders.LEASE_RECORD, record)


def find_end(home: Path) -> datetime | None:
    """Return when the lease of the host with that folder of results ends; None if that is not set.

    Raises:
        RecordError: lease.json is missing or broken.
    """
    stamp = lease_in(home).ends
    return parse_time(stamp) if stamp else None


def measure_left(home: Path) -> float | None:
    """Return the seconds until the end of the lease; None if that is not set.

    Raises what `find_end` does.
    """
    until = find_end(home)
    return None if until is None else (until - datetime.now(timezone.utc)).total_seconds()


def find_allowance(job: Job, left_s: float | None, allocation: Allocation | None) -> int | None:
    """Return the seconds that ``job`` may take, at most its own limit; None: too few.

    Args:
        job: as it is.
        left_s: until the lease ends; None if that is not set.
        allocation: what is requested for each job.
    """
    times = ((left_s, _COLLECTION_S), (allocation.time_s if allocation else None, _NOTICE_S))
    after = [time - max(least, COLLECTION_SHARE * time) for time, least in times if time is not None]
    usable = min(after, default=math.inf)
    return None if usable < job.expected_s else int(min(usable, job.limit_s))


def explain_too_short(job: Job, left_s: float | None, allocation: Allocation | None) -> TooLateError:
    """Return why ``job`` gets no time, by the arguments of `find_allowance`."""
    takes = f"{job.name} takes about {job.expected_s} s"
    if (
        allocation
        and find_allowance(job, None, allocation) is None
        and (left_s is None or left_s > allocation.time_s)
    ):
        message = f"{takes}, and {allocation.setting} asks for {allocation.time}."
        return TooLateError(message, f"Ask for a longer time in {allocation.setting}.")
    if left_s is not None and left_s <= 0:
        fix = "Write when it really ends (lease_ends, budget), or leave that out."
        return TooLateError(f"{takes}, and the lease has ended.", fix)
    return TooLateError(
        f"{takes} and {left_s or 0:.0f} s are left.",
        "Give it more time (lease_ends, budget), a higher priority in its job.yml, or leave out others.",
    )
