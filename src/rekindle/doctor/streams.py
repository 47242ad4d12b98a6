# SPDX-License-Identifier: Apache-2.0
"""Who printed a line: a rank, a container, a host, a trainer; and the parts of a file by that."""

import re
from collections import Counter
from pathlib import Path

from rekindle.flare.log import TRAINERS

from .prefixes import split_hosts
from .shapes import load_shape
from .texts import Text

_RANK = load_shape("rank")
_ALARMS = re.compile(r"(?i)error|traceback|fail|fatal|killed|exception")
_RANKS, _LOGGED = 8, 120
TRAINER = "trainer"


def find_stream(line: str) -> str:
    """Return the rank, the container or the trainer that printed a line, or nothing."""
    if any(f" - {name} - " in line[:_LOGGED] for name in TRAINERS):
        return TRAINER
    match = _RANK.match(line)
    return next(filter(None, match.groups()), "") if match else ""


def split_ranks(text: Text) -> list[Text]:
    """Return a text; of one that several ranks wrote into the part of each of the first."""
    printed = text.raw_lines
    by = split_hosts(printed)
    if not by:
        by = ["" if of == TRAINER else of for of in map(find_stream, printed)]
        counts = Counter(by)
        by = [of if counts[of] > 1 else "" for of in by]
    ranks = [rank for rank in dict.fromkeys(by) if rank]
    alarming = {of for of, line in zip(by, printed, strict=True) if _ALARMS.search(line)}
    ranks = sorted(ranks, key=lambda rank: (rank not in alarming, rank))[:_RANKS]
    if len(ranks) < 2:
        return [text]
    kept = [[at for at, of in enumerate(by) if of in ("", rank)] for rank in ranks]
    rows = text.rows or range(len(printed))
    return [Text(text.file, "\n".join(printed[n] for n in at), tuple(rows[n] for n in at)) for at in kept]


def find_process(file: str, line: str) -> str:
    """Return who printed a line of a file: the server or a site, its trainer, a rank, or the file itself."""
    path = Path(file)
    member = path.parent.name if path.name.startswith(("log", "error_log")) else ""
    of = find_stream(line)
    if of == TRAINER:
        return f"{member}'s trainer" if member else of
    return of or member or path.name
