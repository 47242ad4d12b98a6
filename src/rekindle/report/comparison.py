# SPDX-License-Identifier: Apache-2.0
"""Two runs compared, as sentences: hosts, verdicts, figures, environments."""

from collections.abc import Iterator

from rekindle.records.text import clean_line, list_few
from rekindle.results.causes import generalise_text
from rekindle.results.comparison import Comparison


def list_changes(found: Comparison) -> Iterator[tuple[str, str]]:
    """Yield each host and what changed there, in the order in which it is shown."""
    yield from ((host, "only in the first run") for host in found.left)
    yield from ((host, "only in the second run") for host in found.came)
    for job in found.jobs:
        if job.before != job.after:
            kinds = f"{job.before or 'not asked for'} → {job.after or 'not asked for'}"
            yield job.host, f"{job.job or 'the host'}: {kinds}{f': {job.cause}' if job.cause else ''}"
        elif job.cause != job.cause_before:
            yield job.host, f"{job.job or 'the host'}: {job.after} for another reason: {job.cause or 'none'}"
    for job in found.jobs:
        yield from ((job.host, f"{job.job or 'the host'}: {figure}") for figure in job.changed)
    for host, sentences in found.environments.items():
        yield from ((host, sentence) for sentence in sentences)


def format_comparison(found: Comparison) -> str:
    """Return a line for each change with the hosts on which it is alike, and how much did not change."""
    groups: dict[str, list[tuple[str, str]]] = {}
    changes = list(list_changes(found))
    hosts = {host for host, _ in changes}
    for host, message in changes:
        groups.setdefault(generalise_text(message, hosts), []).append((host, message))
    lines = [
        f"{list_few([host for host, _ in of])}: {of[0][1]}"
        f"{'' if len({message for _, message in of}) == 1 else ' (figures of the first)'}"
        for of in groups.values()
    ]
    verdicts = sum((job.before, job.cause_before) == (job.after, job.cause) for job in found.jobs)
    environments = sum(not sentences for sentences in found.environments.values())
    same = f"{verdicts} verdicts and the environments of {environments} hosts are the same."
    return "\n".join(map(clean_line, [*lines, same]))
