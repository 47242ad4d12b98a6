# SPDX-License-Identifier: Apache-2.0
"""Write benchmarks/examples.md, the board of runs of NVFlare's own examples.

write_examples.py RESULTS…
"""

import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "benchmarks" / "examples.md"
HEAD = """# NVFlare's own examples, as they were found

Written by `scripts/write_examples.py` from results that `make examples CHECKOUT=/data/NVFlare` left: each
example unchanged from that checkout, judged by what NVFlare's server saw of every result, its logs, models
and results ([how](../docs/howto/nvflare-examples.md)). Where a data set could not be reached, a stand-in
took its place, and the verdict names it.

"""


def main() -> None:
    """Write the page from the results that the command line names."""
    board = subprocess.run(
        ["rekindle", "board", "--markdown", *sys.argv[1:]], capture_output=True, text=True, check=False
    )
    if not board.stdout.startswith("|"):
        sys.exit(board.stderr.strip() or "The board has no line. Fix: name folders of results.")
    PAGE.write_text(HEAD + board.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
