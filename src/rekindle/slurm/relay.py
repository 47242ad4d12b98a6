# SPDX-License-Identifier: Apache-2.0
"""``python -I -S -c``, with this text: writes the lines that it reads, with whole characters.

srun writes a line of more than 1,024 bytes, as a progress bar is, in pieces, with pieces of other nodes
between them. Half a character ends NVFlare's reader of a trainer's output, which decodes strictly; the
trainer then blocks in its next print.
"""

import sys


def main() -> None:
    """Relay standard input until its end; bytes that are no UTF-8 become U+FFFD."""
    sys.stdin.reconfigure(encoding="utf-8", errors="replace", newline="")  # type: ignore[union-attr]  # TextIO
    sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]  # TextIO
    for line in sys.stdin:
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
