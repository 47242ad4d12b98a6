# SPDX-License-Identifier: Apache-2.0
"""``rekindle judge FOLDER``: judges runs again from their files."""

from collections.abc import Iterator
from pathlib import Path

from rekindle.host import folders
from rekindle.records import RecordError, VerdictRecord
from rekindle.records.text import clean_line
from rekindle.results.collection import judge_again
from rekindle.results.contents import gather_results
from rekindle.results.row import Row

from .record_paths import is_results, read_host_folder
from .verb import FAILED, NEWEST, OK, UNKNOWN, Answer, Folder, Json, Verb, print_answer


def run(folder: Folder = NEWEST, json: Json = False) -> Answer:
    """Print the verdict on the run, or on each in a results folder or a host's.

    Raises:
        RecordError: there is no run.
    """
    if is_results(folder):
        hosts = gather_results(folder).hosts
        return _several([(folder / host.name, row) for host in hosts for row in host.rows], json)
    if host := read_host_folder(folder):
        return _several([(folder, row) for row in host.rows], json)
    verdict = judge_again(folder)
    status = OK if verdict.verdict == "PASS" else FAILED
    return print_answer(status, "\n".join(map(clean_line, _lines(verdict))), verdict, json)


VERB = Verb(
    "judge",
    run,
    VerdictRecord | list[VerdictRecord],
    ("results/RUN/HOST/JOB", "results/RUN --json", "/tmp/nvflare/simulation/JOB", "/tmp/nvflare/poc"),
    "PASS: every run that is required passed",
    "a run did not pass, or is not there",
)


def _several(rows: list[tuple[Path, Row]], json: bool) -> Answer:
    """Judge each row's run; what was collected counts only where nothing ran, so of no PASS."""
    verdicts: list[VerdictRecord] = []
    lines: list[str] = []
    bad = unknown = False
    for folder, row in rows:
        verdict, required = row.verdict, row.required
        try:
            if row.job and _has_run(folder / row.job, verdict):
                verdict = judge_again(folder / row.job)
                required = verdict.required
        except RecordError as error:
            lines.append(str(error))
            unknown = True
            continue
        if verdict:
            verdicts.append(verdict)
            lines += _lines(verdict)
        else:
            lines.append(f"{' '.join(filter(None, (row.host, row.job)))}: {row.kind}: {row.cause}")
        if row.other_version or (row.kind == "RUNNING" and not verdict):
            unknown = True
        elif required:
            bad = bad or (verdict.verdict if verdict else row.kind) != "PASS"
    status = FAILED if bad or not rows else UNKNOWN if unknown else OK
    return print_answer(status, "\n".join(map(clean_line, lines)), verdicts, json)


def _has_run(folder: Path, verdict: VerdictRecord | None) -> bool:
    """Whether something ran there, whatever was removed since; a PASS is of what ran."""
    left = (folder / name for name in (folders.SPEC, folders.EVIDENCE))
    return any(path.exists() for path in left) or bool(verdict and verdict.verdict == "PASS")


def _lines(verdict: VerdictRecord) -> Iterator[str]:
    yield f"{verdict.host} {verdict.job}: {verdict.verdict}" + (f": {verdict.cause}" if verdict.cause else "")
    for result in verdict.evidence:
        place = f" ({result.file}{f':{result.line}' if result.line else ''})" if result.file else ""
        yield f"  {result.claim}: {_mark(result.state)}. {result.message}{place}"
    for rung in verdict.rungs:
        yield f"  step {rung.name}: {_mark(rung.state)}. {rung.message}"


def _mark(state: str) -> str:
    return "FAILS" if state == "fails" else state
