# SPDX-License-Identifier: Apache-2.0
"""The doctor's answers, for a terminal."""

from rekindle.records import Diagnosis, Finding, Moment
from rekindle.records.text import fold_line

_NOTHING = "Nothing found: these files have no error, no exception, and no failure that Rekindle knows."
_UNKNOWN = "The cause is not known. It may be one of these, which come first:"
_ECHOES = "No cause is in these files, only what follows from one. Fix: add the other processes' logs."
_TIMELINE = "The first errors, oldest first:"
_WENT_ON = "Errors that it went on from:"


def format_diagnosis(found: Diagnosis) -> str:
    """Return the cause, what else is found, the echoes and the timeline, a paragraph each."""
    also = [finding for finding in found.others if not finding.echo]
    echoes = [
        f"  {fold_line(finding.cause)} ({_location(finding)})" for finding in found.others if finding.echo
    ]
    paragraphs = [_paragraph("Cause", found.cause)] if found.cause else []
    paragraphs += [_paragraph("Also" if found.cause else "Possible", finding) for finding in also]
    if not paragraphs and echoes:
        paragraphs = [_ECHOES]
    if echoes:
        paragraphs.append("\n".join(["Echoes:", *echoes]))
    if found.timeline:
        heading = _WENT_ON if found.went_on else _TIMELINE if paragraphs else _UNKNOWN
        paragraphs.append("\n".join([heading, *map(_moment, found.timeline)]))
    return "\n\n".join(paragraphs) or _NOTHING


def _paragraph(title: str, finding: Finding) -> str:
    layer = f"  layer: {finding.layer}\n" if finding.layer else ""
    confirm = f"  confirm: {fold_line(finding.confirm)}\n" if finding.confirm else ""
    return (
        f"{title}: {fold_line(finding.cause)}\n{layer}"
        f"  remedy: {fold_line(finding.remedy)}\n"
        f"{confirm}"
        f"  seen: {_location(finding)}\n"
        f"  confidence: {finding.confidence} ({finding.name})"
    )


def _moment(moment: Moment) -> str:
    time = f"{moment.time[11:19]} " if moment.time else ""
    said = f"{time}{fold_line(moment.process)}: {fold_line(moment.message)}"
    return f"  {said} ({fold_line(moment.file)}:{moment.line}; {moment.after})"


def _location(finding: Finding) -> str:
    line = "" if finding.line is None else f":{finding.line}"
    return fold_line(f"{finding.file or 'no file'}{line}")
