# SPDX-License-Identifier: Apache-2.0
"""``rekindle upgrade RELEASE``: the same jobs on the release of NVFlare that hosts have, and on another."""

from pathlib import Path
from typing import Annotated

import typer

from rekindle.records import Complaint, RecordError
from rekindle.records.acceptance import JOBS as ACCEPTANCE
from rekindle.report.table import terminal
from rekindle.report.upgrade import upgrade_text
from rekindle.results.gather import Results, gather
from rekindle.results.upgrade import Upgrade, releases, upgrade
from rekindle.solver.catalogue import rules

from .plays import play
from .verb import FAILED, OF_STATE, OK, Answer, Json, Verb, answer


def run(
    context: typer.Context,
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="Of NVFlare.")],
    json: Json = False,
) -> Answer:
    """Run site.yml twice, and print what differs.

    Raises:
        RecordError: the hosts have that release already.
    """
    known = list(rules().nvflare.releases)
    if release not in known:
        raise typer.BadParameter(f"{release!r} is not one of {', '.join(known)}", param_hint="RELEASE")
    status, first = play("site.yml", context.args, json, _read)
    if first is None or status not in {OK, FAILED}:
        return _without(status, json)
    folder, before = first
    if releases(before) == [release]:
        fix = "set rekindle_nvflare to the release that they are upgraded from."
        raise RecordError(f"The hosts have NVFlare {release} already.", fix)
    wanted = {"rekindle_nvflare": release, "rekindle_results": f"{folder}-nvflare{release}"}
    if all(row.kind == "PASS" for row in before.rows if row.job in ACCEPTANCE.values()):
        wanted["rekindle_accept"] = "off"  # the GPUs were just measured
    options = [word for name, value in wanted.items() for word in ("-e", f"{name}={value}")]
    status, second = play("site.yml", [*context.args, *options], json, _read)
    if second is None or status not in {OK, FAILED}:
        return _without(status, json)
    found = upgrade(before, second[1], release, [str(folder), str(second[0])])
    return answer(OF_STATE[found.state], upgrade_text(found, *terminal()), found, json)


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
    return folder, gather(folder)


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
