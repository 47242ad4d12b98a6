"""What the doctor found, for a terminal."""

from __future__ import annotations

from rekindle.records import Finding
from rekindle.records.text import one_line

_NOTHING = "Nothing found: these files show no failure that Rekindle knows, and no exception."
_ONLY_ECHOES = "No root cause is in these files, only what follows from one. Fix: add the sites' logs."


def findings(found: tuple[Finding, ...]) -> str:
    """Return the root cause, what else was found, and the echoes, a paragraph each."""
    if not found:
        return _NOTHING
    roots = [one for one in found if not one.echo]
    echoes = [one for one in found if one.echo]
    paragraphs = [_paragraph("Root cause" if one is roots[0] else "Also", one) for one in roots]
    if not roots:
        paragraphs.append(_ONLY_ECHOES)
    if echoes:
        paragraphs.append(
            "\n".join(["Echoes:", *(f"  {one_line(one.cause)} ({_place(one)})" for one in echoes)])
        )
    return "\n\n".join(paragraphs)


def _paragraph(title: str, one: Finding) -> str:
    return (
        f"{title}: {one_line(one.cause)}\n"
        f"  layer: {one.layer}\n"
        f"  remedy: {one_line(one.remedy)}\n"
        f"  seen: {_place(one)}\n"
        f"  confidence: {one.confidence} ({one.name})"
    )


def _place(one: Finding) -> str:
    line = f":{one.line}" if one.line is not None else ""
    return one_line(f"{one.file or 'no file'}{line}")
