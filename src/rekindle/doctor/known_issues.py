"""Known issues: failures that wait for someone else's cure, each until a date."""

from functools import cache
from importlib.resources import files

import msgspec

from rekindle.records import Finding, RunSpec, decodable, decode

from . import versions


class KnownIssue(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One failure that is known and not ours to cure."""

    name: str
    job: str | None = None
    """None: any."""
    arguments: dict[str, tuple[str | int | float | bool, ...]] = {}
    """Values of the job's arguments with which it shows; an argument that is not named may have any."""
    entry: str
    """Name of the catalogue's entry by which it shows."""
    versions: dict[str, str]
    """PEP 440 specifiers of the packages that have it."""
    expires: str
    """ISO date from which it excuses nothing."""
    says: str
    """One sentence."""
    source: str

    def concerns(self, spec: RunSpec) -> bool:
        """Whether a run of ``spec`` meets it, however the run ended."""
        return (
            self.job in (None, spec.job.name, spec.job.code)
            and all(spec.job.arguments.get(name) in values for name, values in self.arguments.items())
            and versions.apply(self.versions, spec.versions) is True
        )

    def explains(self, findings: tuple[Finding, ...]) -> bool:
        """Whether the root cause of a failed run is this one."""
        return bool(findings) and not findings[0].echo and findings[0].name == self.entry

    def expired(self, started: str) -> bool:
        """Whether it was over when the run started (ISO 8601)."""
        return started[:10] >= self.expires


_ALL = decodable(tuple[KnownIssue, ...])


@cache
def known_issues() -> tuple[KnownIssue, ...]:
    """Return all of them."""
    text = files(__package__).joinpath("known_issues.json").read_bytes()
    return decode(text, _ALL)


def known_issue(spec: RunSpec) -> KnownIssue | None:
    """Return the known issue that a run of ``spec`` meets, if there is one."""
    return next((issue for issue in known_issues() if issue.concerns(spec)), None)
