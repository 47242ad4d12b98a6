# SPDX-License-Identifier: Apache-2.0
"""pip's configuration, as uv's environment variables.

uv does not read pip.conf or PIP_* (https://docs.astral.sh/uv/pip/compatibility/), but a leased host's mirror,
certificates and proxies are configured there.

    python -m rekindle.environments.indexes uv pip sync …      runs a command with them
"""

import configparser
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_PORT = re.compile(r"\d{1,5}(?:/|\Z)")
_VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", None),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "cert": ("SSL_CERT_FILE", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "proxy": ("ALL_PROXY", " "),
    "timeout": ("UV_HTTP_TIMEOUT", None),
}
"""uv's variable of each pip option, and the separator of its words; None: only the first counts."""


def list_configurations(environ: Mapping[str, str]) -> list[Path]:
    """Return pip's configuration files in its order of precedence, weakest first.

    The user's own are not read if PIP_CONFIG_FILE names a file, and none is read if it names /dev/null.
    """
    home = Path(environ.get("HOME", "/"))
    configured = environ.get("PIP_CONFIG_FILE")
    if configured == os.devnull:
        return []
    folders = environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")
    shared = [Path(folder, "pip/pip.conf") for folder in folders]
    files = [*reversed(shared), Path("/etc/pip.conf")]
    if configured and Path(configured).exists():
        return [*files, Path(configured)]
    personal = Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "pip/pip.conf")
    return [*files, home / ".pip/pip.conf", personal]


def read_pip_settings(texts: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Merge pip configuration files (weakest first) and PIP_* variables into ``{option: value}``.

    Options are named as on pip's command line: ``index-url``, ``extra-index-url``, ``find-links`` …
    ``[install]`` wins over ``[global]``, PIP_* over both, and an empty value counts as absent.

    Raises:
        configparser.Error: a text is no configuration file.
    """
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}}
    for text in texts:
        parser = configparser.RawConfigParser()
        parser.read_string(text)
        for name, settings in sections.items():
            if parser.has_section(name):
                settings.update((_option(key), value) for key, value in parser.items(name))
    variables = {
        _option(name[len("PIP_") :]): value
        for name, value in environ.items()
        if name.startswith("PIP_") and name != "PIP_CONFIG_FILE"
    }
    layers = (*sections.values(), variables)
    return {name: " ".join(value.split()) for layer in layers for name, value in layer.items() if value}


def mask_credentials(text: str) -> str:
    """Mask credentials in URLs and proxies: what is before an @, after a ?, and a path but for its last part.

    An index may have its token anywhere in the path; that of a ``file://`` stays. A password may have spaces.
    """
    return "".join(map(_masked_line, text.splitlines(keepends=True)))


def _masked_line(line: str) -> str:
    parts: list[str] = []
    user: int | None = None
    """The part in which a user begins whose password may go on."""
    for part in re.split(r"(\s+)", line):
        before, at, host = part.rpartition("@")
        prefix = _before_user(before if at else part)
        if at and user is not None and "://" not in before and (":" not in before or "@" not in parts[user]):
            kept = parts[user][: len(_before_user(parts[user]))]
            parts[user:] = [f"{kept}****@{host}"]
        elif at and ("://" in before or ":" in before[len(prefix) :]):
            user = len(parts)
            parts.append(f"{prefix}****@{host}")
        else:
            name, colon, password = part[len(prefix) :].partition(":")
            if colon and name and "/" not in name and password and not _PORT.match(password):
                user = len(parts)
            elif "://" in part:
                user = None
            parts.append(part)
    return "".join(map(_without_path, parts))


def _before_user(word: str) -> str:
    """Return what of a word comes before a user's name, if it has one."""
    scheme, separator, _ = word.partition("://")
    if separator:
        return scheme + separator
    name = word.partition(":")[0]
    return name[: max(map(name.rfind, "='\"`/(")) + 1]


def _without_path(word: str) -> str:
    """Mask a URL's path but for its last part, and its query."""
    scheme, separator, rest = word.partition("://")
    rest, query, _ = rest.partition("?")
    host, slash, path = rest.partition("/")
    first, *more = path.rstrip("/").rsplit("/", 1)
    if host and more:
        path = path[len(first) :].removeprefix("/")
        path = f"****/{path}"
    return f"{scheme}{separator}{host}{slash}{path}{query and '?****'}" if separator else word


def _option(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def make_uv_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make uv follow pip's settings.

    pip takes the best version from all of its indexes; uv does so with ``unsafe-best-match``.
    """
    words = {name: value.split() for name, value in settings.items() if value.strip()}
    if "default-timeout" in words:
        words.setdefault("timeout", words["default-timeout"])
    variables = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for name, (variable, separator) in _VARIABLES.items():
        if name in words:
            variables[variable] = words[name][0] if separator is None else separator.join(words[name])
    if settings.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
        variables["UV_NO_INDEX"] = "1"
    return variables


def make_uv_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return ``environ`` with uv's variables from pip's configuration; variables that are set stay."""
    files = list_configurations(environ)
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files if path.is_file()]
    return {**make_uv_variables(read_pip_settings(texts, environ)), **environ}


if __name__ == "__main__":
    sys.exit(subprocess.run(sys.argv[1:], env=make_uv_environment(os.environ), check=False).returncode)
