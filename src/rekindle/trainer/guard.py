# SPDX-License-Identifier: Apache-2.0
"""Ends a trainer at an uncaught exception, and records that.

NVFlare 2.7 keeps a non-daemon thread (``conn_mgr_0``) in every process that called ``flare.init()``;
Python's normal exit joins it, so a trainer that raised stays alive and silent until NVFlare's
heartbeat gives up after 300 seconds. Leaving through ``os._exit`` skips that join.

``torch.distributed.init_process_group`` wraps the hook that is set here and points ``sys.stderr`` at
a buffer while it calls it, so that what is printed there would go down with the process: the
traceback is written to ``sys.__stderr__``.
"""

import os
import sys
import threading
import traceback
from contextlib import suppress
from types import TracebackType
from typing import NoReturn

from .evidence import Evidence


def install_guard(evidence: Evidence) -> None:
    """From here on an uncaught exception, in any thread, ends this process with status 1."""

    def end(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> NoReturn:
        try:
            frames = traceback.extract_tb(trace)
            place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown place"
            with suppress(OSError):  # a full disk keeps only the traceback, a closed output only the evidence
                evidence.exception(kind.__name__, str(error), place)
            traceback.print_exception(kind, error, trace, file=sys.__stderr__)
            sys.stdout.flush()
        finally:
            os._exit(1)

    sys.excepthook = end
    threading.excepthook = lambda args: end(args.exc_type, args.exc_value, args.exc_traceback)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]  # TextIO
