# SPDX-License-Identifier: Apache-2.0
"""Models that trainers print: all that a run without our component at the server shows of its training."""

import re
from collections.abc import Iterator

from rekindle.flare.log import TRAINERS, LogRecord

_MODEL = r"\b(?:weights?|models?|param\w{0,7})\b[^\[\n]{0,40}"
_ALL_NAN = re.compile(_MODEL + r"\[+(?:\s{0,9}-?(?:nan|inf)\b,?){2,9999}\s{0,9}\]", re.IGNORECASE)
"""A row of an array, as NumPy and torch print it."""
_SENT = re.compile(rf"\b(?:send|sent|new|updated|trained)\w{{0,3}}\b[^\[\n]{{0,40}}{_MODEL}", re.IGNORECASE)
"""The words with which a trainer prints the model that it trained."""
_ROWS = 100
"""Lines of a printed model that are compared."""
_ARRAY = re.compile(r"\[(?=[^\]]{0,80}\.)[-+\d.e,\s\[\]]{1,4000}\]")
"""Whole numbers are sizes of layers."""


def find_wrong_models(records: list[LogRecord]) -> Iterator[tuple[LogRecord, str]]:
    """Yield models of NaN alone, and of several that are all the same the last, with what is wrong."""
    printed: dict[str, list[tuple[str, LogRecord]]] = {}
    for record in records:
        if row := _ALL_NAN.search(record.message):
            yield record, f"an array that is not finite: {row[0]}"
        if record.logger in TRAINERS and (words := _SENT.search(record.message)):
            text = "\n".join((record.message, *record.more[:_ROWS]))
            if array := _ARRAY.match(text, words.end()):
                printed.setdefault(words[0].strip(), []).append((array[0], record))
    for words_before, models in printed.items():
        if len(models) > 1 and len({model for model, _ in models}) == 1:
            row_of = models[0][0].partition("\n")[0]
            yield models[-1][1], f"{words_before} {row_of} … all {len(models)} times: no model was trained"
