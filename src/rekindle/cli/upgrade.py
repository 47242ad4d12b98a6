# SPDX-License-Identifier: Apache-2.0
"""``rekindle upgrade RELEASE``: the same jobs on the release of NVFlare that hosts have, and on another."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from rekindle.records import Complaint, RecordError
from rekindle.records.acceptance import ACCEPTANCE
from rekindle.records.text import clean_line
from rekindle.report.comparison import format_comparison
from rekindle.results.comparison import JobComparison, compare_runs
from rekindle.results.contents import Results, gather_results
from rekindle.results.row import State
from rekindle.solver.catalogue import load_rules

from .plays import start_playbook
from .verb import FAILED, OF_STATE, OK, Answer, Json, Verb, print_answer


class Upgrade(msgspec.Struct):
    """What an upgrade changes."""

    schema: Literal["rekindle/upgrade/2"]
    state: State
    """failed: something would break; unknown: nothing passed before."""
    before: str
    """Release of NVFlare; of several hosts, joined by ``, ``."""
    after: str
    jobs: list[JobComparison]
    results: list[str]
    """The results folder of each run."""


def run(
    context: typer.Context,
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="Of NVFlare.")],
    json: Json = False,
) -> Answer:
    """Run site.yml twice, and print what differs.

    Raises:
        RecordError: the hosts have that release already.
    """
    known = list(load_rules().nvflare.releases)
    if release not in known:
        raise typer.BadParameter(f"{release!r} is not one of {', '.join(known)}", param_hint="RELEASE")
    status, first = start_playbook("site.yml", context.args, json, _read)
    if first is None or status not in {OK, FAILED}:
        return _without(status, json)
    folder, before = first
    if _releases(before) == [release]:
        fix = "set rekindle_nvflare to the release that they are upgraded from."
        raise RecordError(f"The hosts have NVFlare {release} already.", fix)
    wanted = {"rekindle_nvflare": release, "rekindle_results": f"{folder}-nvflare{release}"}
    if all(row.kind == "PASS" for row in before.rows if row.job in ACCEPTANCE.values()):
        wanted["rekindle_accept"] = "off"  # the GPUs were just measured
    options = [word for name, value in wanted.items() for word in ("-e", f"{name}={value}")]
    status, second = start_playbook("site.yml", [*context.args, *options], json, _read)
    if second is None or status not in {OK, FAILED}:
        return _without(status, json)
    return _answer((folder, before), second, release, json)


def _answer(first: tuple[Path, Results], second: tuple[Path, Results], release: str, json: bool) -> Answer:
    (folder, before), (other, after) = first, second
    found = compare_runs(before, after, folder, other)
    found.jobs = [job for job in found.jobs if job.job not in ACCEPTANCE.values()]
    passed = [job for job in found.jobs if job.before == "PASS"]
    broken = [f"{job.job} on {job.host}" for job in passed if job.breaks]
    state: State = "unknown" if not passed else "failed" if broken else "ok"
    had, folders = ", ".join(_releases(before)), [str(folder), str(other)]
    kept = (
        f"{len(passed) - len(broken)} of {len(passed)} jobs that pass with NVFlare {had} pass with {release}."
    )
    breaks = [f"It would break: {', '.join(broken)}."] if broken else []
    text = "\n".join([format_comparison(found), *map(clean_line, [" ".join([kept, *breaks]), *folders])])
    return print_answer(
        OF_STATE[state], text, Upgrade("rekindle/upgrade/2", state, had, release, found.jobs, folders), json
    )


def _releases(results: Results) -> list[str]:
    """Return the releases of NVFlare that the hosts of a run had."""
    plans = (host.plan for host in results.hosts if host.plan)
    return sorted({plan.nvflare for plan in plans})


def _without(status: int, json: bool) -> Answer:
    """Return the answer where a run has none.

    Raises:
        Complaint: with ``json``, as that has to say so.
    """
    if json:
        raise Complaint(
            "The run ended without an answer, and Ansible has reported why.", "see standard error."
        )
    return Answer(status, "")


def _read(folder: Path) -> tuple[Path, Results]:
    return folder, gather_results(folder)


VERB = Verb(
    "upgrade",
    run,
    Upgrade,
    ("2.9.0 -i lease_hosts", "2.9.0 -i lease_hosts --limit gpu-1 --json 2> log"),
    "every job that passes before passes after",
    "one that passes before would break",
    wrong="called wrongly: nothing began, and Ansible reports why, or hosts have that release",
    unknown="it was interrupted, or no job passes before",
    passes_on=True,
)
