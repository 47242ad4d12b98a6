# SPDX-License-Identifier: Apache-2.0
"""The doctor's findings, for a terminal."""

from rekindle.records import Finding
from rekindle.records.text import one_line

_NOTHING = "Nothing found: these files show no failure that Rekindle knows, and no exception."
_DOUBT = "The root cause is not known. These lines report an error, the likeliest first:"
_ONLY_ECHOES = "No root cause is in these files, only what follows from one. Fix: add the sites' logs."


def findings(found: tuple[Finding, ...]) -> str:
    """Return the root cause, other findings, and the echoes, a paragraph each."""
    if not found:
        return _NOTHING
    roots = [finding for finding in found if finding.layer and not finding.echo]
    doubtful = [f"  may be: {one_line(one.cause)} ({_location(one)})" for one in found if not one.layer]
    echoes = [f"  {one_line(finding.cause)} ({_location(finding)})" for finding in found if finding.echo]
    paragraphs = [_paragraph("Root cause" if finding is roots[0] else "Also", finding) for finding in roots]
    if doubtful:
        paragraphs.append("\n".join([_DOUBT, *doubtful]))
    elif not roots:
        paragraphs.append(_ONLY_ECHOES)
    if echoes:
        paragraphs.append("\n".join(["Echoes:", *echoes]))
    return "\n\n".join(paragraphs)


def _paragraph(title: str, finding: Finding) -> str:
    confirm = f"  confirm: {one_line(finding.confirm)}\n" if finding.confirm else ""
    return (
        f"{title}: {one_line(finding.cause)}\n"
        f"  layer: {finding.layer}\n"
        f"  remedy: {one_line(finding.remedy)}\n"
        f"{confirm}"
        f"  seen: {_location(finding)}\n"
        f"  confidence: {finding.confidence} ({finding.name})"
    )


def _location(finding: Finding) -> str:
    line = "" if finding.line is None else f":{finding.line}"
    return one_line(f"{finding.file or 'no file'}{line}")
