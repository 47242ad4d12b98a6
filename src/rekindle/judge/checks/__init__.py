# SPDX-License-Identifier: Apache-2.0
"""The checks, a module for each subject; rooms have more in their ``judging``.

docs/reference/checks.yml has what breaks each, or does not.
"""

from importlib import import_module
from pkgutil import iter_modules

from rekindle.host.rooms import load_rooms

for _module in iter_modules(__path__):  # each registers its checks, in the order of their names
    import_module(f"{__name__}.{_module.name}")
load_rooms("judging")
