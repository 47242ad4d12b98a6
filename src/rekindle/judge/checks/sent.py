"""That a run ran the files that were sent for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rekindle.host import files, folders
from rekindle.host.archive import FILE_LIMIT
from rekindle.judge.check import Result, check, holds, unknown
from rekindle.judge.run import Run

_CODE = {".py", ".pth", ".so", ".sh"}
"""What Python or a shell may run without being asked for it by name."""
_NAMED = 5


def _undigested(run: Run) -> str | None:
    return None if run.spec.files else "The run's spec has no digests of what was sent."


@check("ours", "example", "acceptance", unless=_undigested)
def files_are_as_sent(run: Run) -> Iterator[Result]:
    """Every file of the job's code is as it was sent, and so is every copy of it that NVFlare ran."""
    sent, job = run.spec.files, run.folder / folders.JOB
    for name, digest in sent.items():
        file, found = f"{folders.JOB}/{name}", _digest(job / name)
        if found is None:
            if digest:
                yield unknown(f"{file} was sent and is missing from the run.")
        elif found != digest and (digest or (job / name).lstat().st_size <= FILE_LIMIT):
            yield unknown(f"{file} is not the file that was sent.", file)
    for path in _copies(job / folders.WORKSPACE):
        inside = path.as_posix().rpartition("/custom/")[2]
        known = {digest for name, digest in sent.items() if f"/{name}".endswith(f"/{inside}")}
        if known and _digest(path) not in known:
            file = path.relative_to(run.folder).as_posix()
            yield unknown(f"{file}, which NVFlare ran, is not the file that was sent.", file)
    notes = []
    if large := sorted(name for name, digest in sent.items() if not digest):
        notes.append(f"Too large to be collected and compared: {_few(large)}.")
    if more := [name for name in _code(job) if name not in sent]:
        notes.append(f"Code in the job's folder that was not sent: {_few(more)}.")
    if notes:
        yield holds(" ".join(notes))


def _digest(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if it is no regular file that can be read."""
    with suppress(OSError):
        return files.sha256(path)
    return None


def _copies(workspace: Path) -> Iterator[Path]:
    """Yield the copies of a job's code from which NVFlare's simulator starts clients and server."""
    yield from (path for path in sorted(workspace.glob("**/custom/**/*")) if path.is_file())


def _code(job: Path) -> Iterator[str]:
    """Yield the names of files of code in the job's folder, but for NVFlare's workspace."""
    for path in sorted(job.rglob("*")):
        name = path.relative_to(job)
        if path.suffix in _CODE and name.parts[0] != folders.WORKSPACE:
            yield name.as_posix()


def _few(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
