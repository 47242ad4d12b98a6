# SPDX-License-Identifier: Apache-2.0
"""Commands that a test runs to their end."""

import subprocess
from typing import Any


def capture_command(words: Any, *, check: bool = False, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command with the options of `subprocess.run`, and return what it printed, as text."""
    return subprocess.run(words, capture_output=True, text=True, check=check, **options)
