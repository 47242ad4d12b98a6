# SPDX-License-Identifier: Apache-2.0
"""YAML of strangers: read in time and memory that its length bounds."""

from typing import Any

import yaml

_MOST = 1_000
"""Keys of a mapping, with those that it merges from others, which may merge each other again and again."""


class BoundedLoader(yaml.SafeLoader):
    """As YAML's safe loader; refuses a mapping that merges take beyond its bound."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge what a mapping has by ``<<``.

        Raises:
            yaml.constructor.ConstructorError: it has too much.
        """
        own = len(node.value)
        super().flatten_mapping(node)
        if len(node.value) > max(own, _MOST):
            raise yaml.constructor.ConstructorError(None, None, "it merges too much", node.start_mark)


def load_yaml(text: str) -> Any:
    """Return what a text has, of builtins.

    Raises:
        yaml.YAMLError: it is no YAML, or merges too much.
        ValueError: a value is none of its type.
    """
    return yaml.load(text, BoundedLoader)
