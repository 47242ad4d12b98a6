# SPDX-License-Identifier: Apache-2.0
"""What modules of NVFlare import that NVFlare does not bring.

needs.json has it; scripts/list_needs.py makes it of NVFlare's own wheel.
"""

import functools
import json
from importlib.resources import files


def find_needs(name: str) -> frozenset[str]:
    """Return what a module of NVFlare, or that of a name in one, imports: modules of others.

    Args:
        name: ``nvflare.app_opt.pt.recipes.fedavg``, or with ``.FedAvgRecipe`` behind it.
    """
    known = _needs()
    return known.get(name) or known.get(name.rpartition(".")[0], frozenset())


@functools.cache
def _needs() -> dict[str, frozenset[str]]:
    table: dict[str, list[str]] = json.loads(files(__package__).joinpath("needs.json").read_bytes())
    return {module: frozenset(wanted.split()) for wanted, modules in table.items() for module in modules}
