# SPDX-License-Identifier: Apache-2.0
"""Notes what a trainer could not import: nothing of its run comes any more, and others wait for it.

An import that the trainer's own code catches is not noted, nor one in a process that a trainer starts. Only
the standard library is imported here.
"""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from rekindle.host import folders

_STARTERS = (b"nvflare", b"torch.distributed.run", b"torchrun")
"""In the command of what starts a trainer."""


def note_import_error(error: BaseException) -> None:
    """Write it down beside the evidence as Python prints it, if it is an error of an import."""
    folder = os.environ.get("REKINDLE_EVIDENCE")
    if folder and isinstance(error, ImportError):
        with suppress(OSError):
            text = "".join(traceback.format_exception(error))
            Path(folder, folders.IMPORT_ERROR).write_text(text, encoding="utf-8", errors="replace")


@contextmanager
def watch_imports() -> Iterator[None]:
    """Note an import that fails in the block, which is a trainer's script."""
    try:
        yield
    except ImportError as error:
        note_import_error(error)
        raise


def watch_exit() -> None:
    """From here on an import that ends this process is noted, if it is a trainer."""
    before = sys.excepthook

    def end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if _is_trainer():
            note_import_error(error)
        before(kind, error, trace)

    sys.excepthook = end


def _is_trainer() -> bool:
    with suppress(OSError):
        command = Path("/proc", str(os.getppid()), "cmdline").read_bytes()
        return any(starter in command for starter in _STARTERS)
    return False
