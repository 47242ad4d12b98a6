# SPDX-License-Identifier: Apache-2.0
"""The verb of this room, whose module has its name."""

HELP = {
    "federate": (
        "Bring hosts back and prove jobs over all of them, with TLS. It also shows certificates, releases, "
        "clocks and whether the federation runs, and ends a running federation. {passes_on}"
    )
}
