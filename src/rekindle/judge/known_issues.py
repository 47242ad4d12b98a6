# SPDX-License-Identifier: Apache-2.0
"""Known issues: failures that others have to correct, each excused until a date."""

from functools import cache
from importlib.resources import files

import msgspec

from rekindle.doctor.catalogue import match_releases
from rekindle.records import Finding, RunSpec, allow_decoding, decode_json


class KnownIssue(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One known failure that is not ours to correct."""

    name: str
    job: str | None = None
    arguments: dict[str, tuple[str | int | float | bool, ...]] = {}
    """Values of the job's arguments that show it; other arguments may have any."""
    entry: str
    versions: dict[str, str]
    expires: str
    message: str
    source: str

    def concerns(self, spec: RunSpec) -> bool:
        """Whether a run of ``spec`` is affected, whatever its verdict."""
        return (
            self.job in (None, spec.job.name, spec.job.code)
            and all(spec.job.arguments.get(name) in values for name, values in self.arguments.items())
            and match_releases(self.versions, spec.versions) is True
        )

    def explains(self, findings: tuple[Finding, ...]) -> bool:
        """Whether the root cause of a failed run is this one."""
        return bool(findings) and not findings[0].echo and findings[0].name == self.entry

    def has_expired(self, started: str) -> bool:
        """Whether it had expired when the run started (ISO 8601)."""
        return started[:10] >= self.expires


_ALL = allow_decoding(tuple[KnownIssue, ...])


@cache
def load_known_issues() -> tuple[KnownIssue, ...]:
    """Return all of them."""
    return decode_json(files(__package__).joinpath("known_issues.json").read_bytes(), _ALL)


def find_known_issue(spec: RunSpec) -> KnownIssue | None:
    """Return the known issue that affects a run of ``spec``, if any."""
    return next((issue for issue in load_known_issues() if issue.concerns(spec)), None)
