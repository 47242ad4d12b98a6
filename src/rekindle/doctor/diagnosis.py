# SPDX-License-Identifier: Apache-2.0
"""Findings from the files of a run, or from any logs."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from rekindle.host import folders
from rekindle.host.files import MOST
from rekindle.records import Ended, Finding, RecordError, RunSpec
from rekindle.records.base import read_valid
from rekindle.records.evidence import read_lines

from . import texts
from .gpu_memory import name_holder
from .root_cause import root_first
from .texts import Text


def diagnose_run(run_dir: Path, spec: RunSpec | None = None) -> tuple[Finding, ...]:
    """Return what the files of a run, or of any workspace of NVFlare, show: the root cause, then its echoes.

    A trainer's own exception comes first, and what follows it is an echo. Files are relative to ``run_dir``;
    versions and earlier processes on GPUs are from ``spec``, or else from spec.json.
    """
    spec = spec or read_valid(run_dir / folders.SPEC, RunSpec)
    ended = read_valid(run_dir / folders.ENDED, Ended)
    logs = list(_logs(run_dir, ended))
    failed = (ended.reason == "limit" or ended.exit_status not in (0, None)) if ended else None
    findings = root_first(read_lines(run_dir), logs, spec.versions if spec else {}, failed)
    nodes = spec.nodes if spec else ()
    return tuple(_name_node(name_holder(finding, run_dir, spec, logs), nodes) for finding in findings)


def _name_node(finding: Finding, nodes: tuple[str, ...]) -> Finding:
    for node in nodes:
        if finding.file and re.fullmatch(rf"{folders.AUTOPSY}/\w+-{re.escape(node)}\.txt", finding.file):
            return replace(finding, cause=f"On {node}: {finding.cause}")
    return finding


def diagnose_texts(logs: Iterable[Text]) -> tuple[Finding, ...]:
    """Return the findings from texts of any origin, as `diagnose_run` does."""
    logs = list(logs)
    return tuple(name_holder(finding, None, None, logs) for finding in root_first([], logs, {}, None))


def diagnose_paths(paths: Iterable[Path]) -> tuple[Finding, ...]:
    """Return what log files and the folders of runs show; files are named as they were given.

    Raises:
        RecordError: a path is not there, cannot be read, or is a folder without any log.
    """
    files: list[Text] = []
    findings: list[Finding] = []
    for path in paths:
        try:
            if not path.is_dir():
                with path.open("rb") as stream:
                    files.append(texts.read_stream(stream, str(path)))
                continue
            if not any(texts.logs(path)) and not any(path.glob("evidence/*.jsonl")):
                raise RecordError(f"{path} holds no log.", "name a run's folder, a workspace, or a log file.")
            for finding in diagnose_run(path):
                findings.append(replace(finding, file=str(path / finding.file) if finding.file else None))
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}."
            raise RecordError(message, "name a log file, or the folder of a run.") from None
    return tuple(sorted([*findings, *diagnose_texts(files)], key=lambda finding: finding.echo))


def _logs(run_dir: Path, ended: Ended | None) -> Iterator[Text]:
    """Read the logs of a run, up to a bound, and what interrupted it; what cannot be read is left out."""
    if ended and ended.reason == "interrupted":
        with suppress(OSError):
            yield _interrupted(texts.read(run_dir / folders.ENDED, folders.ENDED), ended.message or "")
    for path in islice(texts.logs(run_dir), MOST):
        with suppress(OSError):
            log = texts.read(path, path.relative_to(run_dir).as_posix())
            yield texts.since(log, ended.started) if ended and log.file.startswith("autopsy/kernel") else log


def _interrupted(record: Text, message: str) -> Text:
    """Return what interrupted a run, in the line of its record that has it."""
    before = record.raw.count("\n", 0, max(0, record.raw.find('"says"')))
    return Text(record.file, "\n" * before + message)
