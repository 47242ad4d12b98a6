# SPDX-License-Identifier: Apache-2.0
"""The claim that NVFlare's server selected its best model."""

import re

from rekindle.judge.check import Options, Result, fails, holds, register_claim
from rekindle.judge.run import Run


@register_claim(
    holds="Every site's metric reached the server in every round, which selected the best model by it."
)
def best_model_selected(run: Run, options: Options) -> Result:
    """NVFlare leaves out the first round, whose global model nobody has trained yet."""
    rounds = run.spec.job.rounds - 1
    for site in run.spec.sites:
        metrics = run.logs.find("server", rf"validation metric \S+ from client {re.escape(site.name)}$")
        if len(metrics) != rounds:
            message = f"{site.name}'s metric reached the server in {len(metrics)} of {rounds} rounds."
            return fails(message, metrics[-1] if metrics else None)
    best = run.logs.find("server", r"new best validation metric at round (\d+): (\S+)")
    if not best:
        return fails("The server selected no best model.")
    message = f"Best model: round {best[-1].match.group(1)}, validation metric {best[-1].match.group(2)}."
    return holds(message, best[-1])
