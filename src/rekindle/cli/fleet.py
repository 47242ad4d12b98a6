# SPDX-License-Identifier: Apache-2.0
"""``rekindle accept RESULTS…``: judges hosts again, and writes norms and certificates of them."""

from pathlib import Path

from rekindle.acceptance import make_norms
from rekindle.fabric.past import make_right_records
from rekindle.host import storage
from rekindle.records import FabricRecord, RecordError, explain_unwritten, format_time, write_record
from rekindle.report.acceptance import format_acceptance
from rekindle.report.certificate import render_certificate
from rekindle.report.table import measure_terminal
from rekindle.results import certificate as certificates
from rekindle.results import seal, signature, state
from rekindle.results.acceptance import FleetAcceptance, compare_accepted, pick_newest, read_accepted
from rekindle.results.contents import HostResults

from .record_paths import gather_folders
from .verb import OF_STATE, Answer, print_answer

_ELSEWHERE = "name a file in a folder of yours."


def judge_fleet(folders: list[Path], norms: Path | None, certificate: Path | None, json: bool) -> Answer:
    """Print the hosts' flaws, and write ``norms`` and a ``certificate`` where they are asked for.

    Raises:
        RecordError: a folder has no run, no run an acceptance, no host is right for norms, or a file cannot
            be written.
        SealError: what a certificate is to be of is not as it was sealed.
    """
    found, unread = gather_folders(folders)
    acceptance, _ = compare_accepted(found.values(), unread)
    newest = pick_newest(found.values())
    fabrics = [fabric for results in found.values() for fabric in results.fabrics]
    if not acceptance.hosts and (certificate or not (norms and fabrics)):
        fix = (
            "run rekindle site -i lease_hosts --job acceptance."
            if not fabrics
            else "name an earlier run too, as fabric.json's past."
        )
        raise RecordError("No acceptance.json is in these runs.", fix)
    parts = [format_acceptance(acceptance, *measure_terminal())]
    if norms:
        parts.append(_write_norms(norms, acceptance, newest, fabrics))
    if certificate:
        for folder in found:  # of hosts' past, and of fabrics, too
            seal.check_folder(folder)
        parts.append(_write_certificate(certificate, acceptance, newest))
    return print_answer(OF_STATE[acceptance.state], "\n\n".join(parts), acceptance, json)


def _write_norms(
    path: Path, acceptance: FleetAcceptance, newest: dict[str, HostResults], fabrics: list[FabricRecord]
) -> str:
    wrong = {of.host for of in acceptance.hosts if of.verdict != "PASS" or of.flaws}
    records = [record for name in newest if name not in wrong and (record := read_accepted(newest[name]))]
    links = [record for fabric in fabrics for record in make_right_records(fabric, wrong)]
    norms = make_norms([*records, *links], format_time())
    with explain_unwritten(path, _ELSEWHERE):
        write_record(path, norms)
    by = f"{len(records)} of {len(acceptance.hosts)} hosts and {len(fabrics)} fabrics"
    return f"{path} has {len(norms.norms)} norms by {by}."


def _write_certificate(path: Path, acceptance: FleetAcceptance, newest: dict[str, HostResults]) -> str:
    key = state.provide_key()
    fingerprint = signature.format_fingerprint(signature.format_public_key(key))
    page = render_certificate(acceptance, newest, format_time(), fingerprint)
    with explain_unwritten(path, _ELSEWHERE):
        storage.write_file(path, certificates.sign_page(page, key))
    return f"{path} has a sheet for each of {len(acceptance.hosts)} hosts, signed by {fingerprint}."
