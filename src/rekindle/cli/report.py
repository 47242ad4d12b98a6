# SPDX-License-Identifier: Apache-2.0
"""``rekindle report FOLDER``: writes the reports of a results folder again, or prints one run's table."""

from pathlib import Path

from rekindle.host import folders
from rekindle.judge import judge_run
from rekindle.records import Complaint, PlaybookRecord
from rekindle.report.data import ResultsData, make_results_data
from rekindle.report.reports import format_summary, write_reports
from rekindle.results import seal
from rekindle.results.contents import HostResults, Results, gather_results
from rekindle.results.row import Row

from .record_paths import find_results_above, is_host, is_results, read_host_folder
from .verb import FAILED, NEWEST, OK, UNKNOWN, Answer, Folder, Json, Verb, print_answer

_RECORDED = "Verdicts are as they were recorded and were not judged again: `rekindle judge {}` does that."


def run(folder: Folder = NEWEST, json: Json = False) -> Answer:
    """Write the reports of the results folder that has ``folder``, and print the table.

    For a run outside of results folders, and of a folder that another key sealed, only print the table.

    Raises:
        RecordError: there is no run, or the folder cannot be written.
        SealError: a record that a report would be made of is not as it was sealed.
    """
    around = folder if is_results(folder) else find_results_above(folder)
    if around and (around is folder or is_host(folder) or (folder / folders.VERDICT).exists()):
        base, note = around, _RECORDED.format(around)
        if trouble := seal.find_seal_trouble(around):
            results = gather_results(around)
            note = f"{trouble.message} Its reports are left as they are. {note}"
        elif altered := seal.find_altered_record(around):
            raise altered
        else:
            before = seal.take_digests(around)
            results = write_reports(around)
            if before is not None:
                seal.seal_folder(around, before)
    elif host := read_host_folder(folder):
        results, base, note = _alone(folder, host), None, _RECORDED.format(folder)
    else:
        verdict = judge_run(folder)
        why = Complaint(verdict.cause) if verdict.cause else None
        row = Row(verdict.host, verdict.job, verdict.verdict, why, verdict, home=folder)
        alone = HostResults(verdict.host, None, None, None, (row,))
        results, base, note = _alone(folder, alone), None, ""
    return print_answer(
        find_status(results), format_summary(results, base, note), make_results_data(results), json
    )


VERB = Verb(
    "report",
    run,
    ResultsData,
    ("results/RUN", "results/RUN/HOST/JOB --json", "/tmp/nvflare/simulation/JOB"),
    "every required job is PASS",
    "one is not",
)


def find_status(results: Results) -> int:
    """Return the exit status for results."""
    if results.passed:
        return OK
    bad = [row for row in results.rows if row.required and row.kind != "PASS"]
    return UNKNOWN if bad and all(row.other_version or row.kind == "RUNNING" for row in bad) else FAILED


def _alone(folder: Path, host: HostResults) -> Results:
    return Results(PlaybookRecord(run=folder.resolve().name, started="", hosts=(host.name,)), (host,))
