# SPDX-License-Identifier: Apache-2.0
"""What the files of a job say without being run: scripts by their syntax, configurations by their words."""

import ast
import json
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath

import yaml

from rekindle.host import payload

from .scripts import Script, ScriptCall, ScriptImport, SourceValue, take_last_name
from .yaml_texts import load_yaml

_LARGEST = 1_000_000
"""Bytes of a file that is read."""
_PARTS = 100_000
"""Of JSON that a file in YAML is written as."""
_DEEPEST = 8
"""Names that lead to each other."""
_CONFIGURATION = re.compile(r"(?:^|/)(?:config_\w+|meta)\.(?:json|conf|ya?ml)\Z")
_SERVER = re.compile(r"config_fed_server\.(?:json|conf|ya?ml)\Z")
_OF_NVFLARE = re.compile(r"(?:^|/)(?:config_fed_(?:server|client)|meta)\.(?:json|ya?ml)\Z")
_META = re.compile(r"meta\.(?:json|conf|ya?ml)\Z")
_PAIR = re.compile(
    r"""(?<!\w)(\w{1,100})["']?\s{0,20}[:=]\s{0,200}["']?([^\s"',}\]\[{]{1,1000}|\$?\{\w{1,100}\})"""
)
"""A key with its plain value, alike in JSON, HOCON and flow YAML."""
_OF_ONE = {"int": None, "len": len, "list": list, "tuple": list, "sorted": sorted, "enumerate": list}
"""Functions of one argument, and what they make of a list."""
_SIGNATURES = {
    "FedAvgJob": ("initial_model", "n_clients", "num_rounds", "name", "min_clients"),
    "SimulatorRunner": ("job_folder", "workspace", "clients", "n_clients", "threads"),
    "add_experiment_tracking": ("recipe", "tracking_type"),
    "simulator_run": ("workspace", "n_clients", "clients", "threads"),
}
"""What of NVFlare's jobs call by place, in 2.7 to 2.9."""
_COMMENT = re.compile(r"(?m)(?:^|\s)(?:#|//).*$")


@dataclass(frozen=True)
class Configuration:
    """A file of a job's configuration for NVFlare."""

    name: str
    text: str

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Each key with its plain value, in their order; a value that names another key is that one's."""
        found = _PAIR.findall(self.text)
        named = dict(found)
        return [
            (key, named.get(value.strip("${}"), value) if "{" in value else value) for key, value in found
        ]

    @property
    def classes(self) -> list[str]:
        """The classes of its workflows, components and executors, as paths or names."""
        return [value for key, value in self.pairs if key in {"path", "name", "class_path"}]

    @property
    def sites(self) -> list[str]:
        """The sites that a meta.json deploys to by name."""
        deployed = self.text.partition("deploy_map")[2].partition("}")[0]
        names = re.findall(r"[\w@.-]+", " ".join(re.findall(r"\[([^\[\]]{0,9999})\]", deployed)))
        return [name for name in dict.fromkeys(names) if name != "server" and not name.startswith("@")]

    def most(self, key: str) -> int | None:
        """Return the largest number of that ``key``."""
        return max(
            (int(value) for name, value in self.pairs if name == key and value.isdecimal()), default=None
        )


@dataclass(frozen=True)
class Source:
    """The files of a job that travel."""

    folder: Path
    entry: str
    """What is run: the name of a script; empty for a folder that NVFlare's simulator runs."""

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(payload.list_travelling(self.folder))

    @cached_property
    def scripts(self) -> list[Script]:
        """Its scripts of Python that are run, and what they and its configurations name, in that order."""
        rest = [name for name in self.files if name.endswith(".py")]
        texts = [self.entry, *(configuration.text for configuration in self.configurations)]
        texts += [self.text(self.entry)] if self.entry else []
        found = []
        for text in texts:  # which grows
            words = {*re.findall(r"\w+", text)}
            named = [name for name in rest if _stem(name) in words]
            rest = [name for name in rest if name not in named]
            scripts = [script for name in named if (script := self.script(name))]
            found += scripts
            texts += [script.text for script in scripts]
        return sorted(found, key=lambda script: script.name != self.entry)

    @cached_property
    def configurations(self) -> list[Configuration]:
        """The configurations of the first job in it for NVFlare, or of the one that its script names."""
        names = [name for name in self.files if _CONFIGURATION.search(name)]
        servers = [name for name in names if _SERVER.search(name)]
        said = self.words
        folders = [_job_of(name, names) for name in servers]
        chosen = next(
            (folder for folder in folders if folder and folder in said), folders[0] if folders else ""
        )
        kept = [name for name in names if not chosen or name.startswith(f"{chosen}/")] if folders else []
        return [Configuration(name, _plain(name, text)) for name in kept if (text := self.text(name))]

    @property
    def words(self) -> str:
        """What its scripts write on command lines, of Python or a shell, with blanks in place of quotes."""
        own = self.text(self.entry) if self.entry else ""
        return re.sub(r"[\"']", "", re.sub(r"[\"']\s*,\s*[\"']?", " ", own))

    @cached_property
    def calls(self) -> list[ScriptCall]:
        """Every call, those of the script that is run before the others'; arguments have their names."""
        own = {name: [*of] for script in self.scripts for name, of in script.classes.items()}
        found = []
        for call in (call for script in self.scripts for call in script.calls):
            names = own.get(call.name) or _SIGNATURES.get(call.name, ())
            placed = dict(zip(names, call.arguments, strict=False))
            found.append(call._replace(keywords={**placed, **call.keywords}))
        return found

    @property
    def imports(self) -> Iterator[ScriptImport]:
        """Every import of what does not lie in the job itself."""
        own = {PurePosixPath(name).stem for name in self.files if name.endswith(".py")}
        own |= {
            part for name in self.files if name.endswith(".py") for part in PurePosixPath(name).parts[:-1]
        }
        for script in self.scripts:
            yield from (one for one in script.imports if one.module.partition(".")[0] not in own)

    def text(self, name: str) -> str:
        """Return a file's text, in UTF-8 or as a script declares; nothing if it is large or none."""
        path = self.folder / name
        try:
            if path.stat().st_size > _LARGEST:
                return ""
            with tokenize.open(path) if name.endswith(".py") else path.open(encoding="utf-8-sig") as stream:
                return stream.read()
        except (OSError, ValueError, SyntaxError):
            return ""

    def value(self, node: ast.expr | None, script: Script, depth: int = _DEEPEST) -> SourceValue | None:
        """Return what an expression is, if it is literal or an option's default; None if only a run shows it.

        Of an option without a default the value is None.
        """
        if node is None or not depth:
            return None
        found: SourceValue | None = None
        if isinstance(node, ast.Call) and take_last_name(node.func) in _OF_ONE and len(node.args) == 1:
            found = self.value(node.args[0], script, depth - 1)
            made = found and _OF_ONE[take_last_name(node.func)]
            if found and made and isinstance(found.value, (list, tuple, dict)):
                found = found._replace(value=made(found.value), option="")
        elif isinstance(node, ast.Attribute) and (option := script.option(node.attr)):
            found = self.value(option[1], script, depth - 1) or SourceValue(None, script.describe_place(node))
            found = found._replace(option=option[0])
        elif isinstance(node, (ast.Name, ast.Attribute)):
            scripts = (script, *(one for one in self.scripts if one is not script))
            written = ((one, one.find_assigned(take_last_name(node))) for one in scripts)
            one, assigned = next(((one, value) for one, value in written if value), (script, None))
            found = self.value(assigned, one, depth - 1)
        else:
            with suppress(ValueError, TypeError, SyntaxError, RecursionError):
                found = SourceValue(ast.literal_eval(node), script.describe_place(node))
        return found

    def find_argument(self, keyword: str, callees: Iterable[str] = ()) -> list[SourceValue]:
        """Return each value that calls give to ``keyword``; of ``callees`` alone, if there are any."""
        named = frozenset(callees)
        calls = (
            call for call in self.calls if keyword in call.keywords and (not named or call.name in named)
        )
        return [found for call in calls if (found := self.value(call.keywords[keyword], call.script))]

    def explain_unread(self, name: str) -> str:
        """Return where and why a script is no Python of this release; empty if it is, or is none."""
        found = self._parse(name) if name.endswith(".py") else ""
        return found if isinstance(found, str) else ""

    def script(self, name: str) -> Script | None:
        """Return a script of that name; None if it is not there or is no Python."""
        found = self._parse(name)
        return None if isinstance(found, str) else found

    def _parse(self, name: str) -> Script | str:
        """Return a script, or where and that it is no Python of this release."""
        text = self.text(name)
        try:
            return Script(name, text, ast.parse(text))
        except SyntaxError as error:
            release = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
            return f"{name}:{error.lineno} is no {release} ({error.msg})"
        except (ValueError, RecursionError, MemoryError):
            return f"{name} is not read"


def explain_syntax(name: str, text: str) -> str:
    """Return why what NVFlare reads is no JSON or YAML, as its name says; empty if it is, or is another."""
    try:
        if _OF_NVFLARE.search(name):
            json.loads(text) if name.endswith(".json") else load_yaml(text)
    except ValueError as error:
        return f"{name} is no JSON: {error}"
    except yaml.YAMLError as error:
        return name + explain_yaml(error)
    return ""


def explain_yaml(error: yaml.YAMLError) -> str:
    """Return what goes on with the name of a file that is no YAML: the line, and why."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    return f"{f':{mark.line + 1}' if mark else ''} is no YAML: {' '.join(str(problem or error).split())}"


def is_server_configuration(name: str) -> bool:
    """Whether a file has the workflows of a job for NVFlare, by its name."""
    return bool(_SERVER.search(name))


def is_exported_job(folder: Path) -> bool:
    """Whether a folder is a job for NVFlare, or one of its apps."""
    names = (path.name for part in (folder, folder / "config") if part.is_dir() for path in part.iterdir())
    return any(_META.match(name) or _SERVER.match(name) for name in names)


def _stem(name: str) -> str:
    """Return what others call a file of Python: its name, or its package's."""
    path = PurePosixPath(name)
    return path.parent.name if path.stem == "__init__" else path.stem


def _job_of(server: str, names: Iterable[str]) -> str:
    """Return the folder of the job that has this configuration; empty if that is the whole folder."""
    parents = [parent.as_posix() for parent in PurePosixPath(server).parents]
    metas = {PurePosixPath(name).parent.as_posix() for name in names if _META.search(name)}
    folder = next((parent for parent in parents if parent in metas), parents[1])
    return "" if folder == "." else folder


def _plain(name: str, text: str) -> str:
    """Return a configuration without comments, and YAML's as JSON."""
    if name.endswith((".yml", ".yaml")):
        try:
            parts = json.JSONEncoder(default=str).iterencode(load_yaml(text))
            found = "".join(islice(parts, _PARTS))  # aliases of aliases have no end
            return found if next(parts, None) is None else ""
        except (yaml.YAMLError, ValueError, RecursionError):
            return ""
    return text if name.endswith(".json") else _COMMENT.sub("", text)
