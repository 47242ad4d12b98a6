# SPDX-License-Identifier: Apache-2.0
"""NVFlare imports, and so does what a job's processes all import at once; its bytecode stays for them."""

import importlib
import importlib.util

MODULES = ("nvflare.private.fed.app.simulator.simulator", "nvflare.client", "nvflare.recipe")


def main() -> None:
    """Import them; an exception is the probe's failure."""
    for name in MODULES:
        importlib.import_module(name)
    if importlib.util.find_spec("sklearn"):
        importlib.import_module("sklearn.datasets")
    print("{}")


if __name__ == "__main__":
    main()
