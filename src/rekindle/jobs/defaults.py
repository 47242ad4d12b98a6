# SPDX-License-Identifier: Apache-2.0
"""What job.yml of a user's own job may leave out: as the job's files say it, and where each comes from."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rekindle import locks
from rekindle.flare.configuration import FLOWS
from rekindle.flare.needs import find_needs
from rekindle.flare.workspace import MODELS
from rekindle.records import RecordError
from rekindle.solver.catalogue import list_environments

from . import requirements
from .scripts import SourceValue, take_last_name
from .sizes import STARTS, count_rounds, count_sites
from .source import Source, is_exported_job

FILE = "job.yml"
SCRIPTS = (".py", ".sh")
ENDINGS = (".yml", ".yaml", ".json", ".conf", *SCRIPTS)
"""Of files by which a user names a job of their own, instead of its folder."""
SIMULATES = "rekindle.trainer.simulation"
_SCRIPT, _SRC = "job.py", "src"
_SITES, _ROUNDS, _LIMIT_S = 2, 2, 3600
_ASSUMED = "assumed: {}, and what the job announces counts"
_PACKAGES = {
    "PIL": "pillow",
    "google": "protobuf",
    "private_set_intersection": "openmined-psi",
    "sklearn": "scikit-learn",
    "sksurv": "scikit-survival",
}
"""Packages in locks whose modules have another name."""
_OURS = "rekindle"
"""Is on each job's path."""
_SUMMARIES = "torch.utils.tensorboard"
"""Imports a package that torch does not bring."""
_CALLED = {
    "as_frame": "pandas",
    "read_excel": "openpyxl",
    "read_feather": "pyarrow",
    "read_hdf": "tables",
    "read_parquet": "pyarrow",
}
"""Packages that scikit-learn and pandas import only where such a function or argument stands."""
_TRACKERS = ("tensorboard", "mlflow", "wandb")
"""Packages that NVFlare's receivers import."""
_OWN = frozenset({"ModelController"})
"""Bases of a user's own workflows, which may save no model."""
_TRAINS = re.compile(r"FedAvg|FedOpt|Scaffold|ScatterAndGather|Cyclic|[Ss]warm|ModelController|FedBuff")
_SAVES = re.compile(r"\bsave_model\b|" + "|".join(rf"\{ending}\b" for ending in MODELS))
_STATISTICS = frozenset({"FedStatsRecipe", "StatisticsController", "StatsJob"})
_MATRIX = frozenset({"CrossSiteModelEval", "CrossSiteEval", "GlobalModelEval"})
_EVALUATES = frozenset({"FedEvalRecipe", "NumpyCrossSiteEvalRecipe", "add_cross_site_evaluation"})
_WRITES_MATRIX = frozenset({"ValidationJsonGenerator", "BaseFedJob", "FedAvgJob"})
_WITHOUT_MODEL = re.compile(r"(?:DhPSI|Flower|XGB)\w*(?:Recipe|Controller|Job)|KM|KM_HE")


class Default(NamedTuple):
    """What a field is that job.yml leaves out."""

    value: Any
    because: str
    """A clause: where it comes from."""
    read: bool = True
    """Whether the job's own files say it; else it is assumed."""


def locate_folder(path: Path) -> Path:
    """Return the folder of the code of a user's job, which is named by it or by a file in it."""
    return path.parent if path.suffix in ENDINGS else path


def locate_file(path: Path) -> Path:
    """Return where the job.yml of that job is, or would be."""
    return path if path.suffix in {".yml", ".yaml"} else locate_folder(path) / FILE


def read_source(path: Path, given: Mapping[str, Any]) -> Source:
    """Return the files of the job that ``path`` names, by the command that its job.yml has, if any.

    Raises:
        RecordError: nothing shows what is to be run.
    """
    folder, own = locate_folder(path), _table(given, "example").get("command")
    files = Source(folder, "").files
    if isinstance(own, list) and own:
        return Source(folder, _entry([str(word) for word in own], files))
    if path.suffix in SCRIPTS:
        return Source(folder, path.name)
    if _SCRIPT in files:
        return Source(folder, _SCRIPT)
    if is_exported_job(folder):
        return Source(folder, "")
    scripts = [name for name in files if "/" not in name and name.endswith(".py")]
    starts = [name for name in scripts if any(word in Source(folder, "").text(name) for word in STARTS)]
    if len(starts) == 1:
        return Source(folder, starts[0])
    inside = sorted({(folder / name).parent for name in files if name.endswith("/meta.json")})
    ways = [folder / name for name in starts] or inside or [folder / "train.py"]
    found = (
        f"{len(starts)} scripts that start NVFlare's simulator"
        if starts
        else f"no {_SCRIPT} and no meta.json"
    )
    raise RecordError(
        f"{folder} has {found}.", f"name what runs the job, as {' or '.join(map(str, ways[:3]))}."
    )


def fill_defaults(source: Source, given: Mapping[str, Any]) -> dict[str, Default]:
    """Return a value for each field of a job that ``given``, of its job.yml, lacks.

    Raises:
        RecordError: the file of packages beside its code cannot be read.
    """
    example = _table(given, "example")
    names = {*_names(source)}
    sites, rounds = count_sites(source), count_rounds(source)
    script = source.folder / (source.entry or FILE)
    assumed = _ASSUMED.format(source.explain_unread(source.entry) or "its files do not say it")
    found = {
        "schema": Default("rekindle/job/1", "the only one"),
        "name": Default(_name(source), "the folder's name"),
        "summary": _summary(source),
        "sites": _default(sites, _SITES, assumed),
        "ranks_per_site": _ranks(source),
        "rounds": _default(rounds, _ROUNDS, assumed),
        "when_short_of_gpus": Default("share", "sites share GPUs if there are too few"),
        "limit_s": Default(_LIMIT_S, "an hour; nothing in the job says how long it takes", read=False),
        "proof": _proof(source, names, rounds),
    }
    if not (given.get("container") or example.get("container")):
        path, packages = requirements.find_package_file([script.parent, source.folder])
        reasons = [path.name] if path else []
        if any(one.name.endswith((".yml", ".yaml")) for one in source.configurations):
            packages, reasons = (*packages, "omegaconf"), [*reasons, "NVFlare reads YAML by omegaconf"]
        if reasons:
            found["requirements"] = Default(sorted({*packages}), "; ".join(reasons))
    own = {} if "command" in example else {"command": _command(source, sites, rounds)}
    if (path_ := _path(source)) and "PYTHONPATH" not in _table(example, "environ"):
        environ = {**_table(example, "environ"), "PYTHONPATH": path_.value}
        own["environ"] = path_._replace(value=environ)
    if own and not isinstance(given.get("example", {}), str):
        because = "; ".join(one.because for one in own.values())
        merged = {**example, **{name: one.value for name, one in own.items()}}
        found["example"] = Default(merged, because)
    listed = given.get("requirements", found["requirements"].value if "requirements" in found else [])
    found["environment"] = _environment(source, listed if isinstance(listed, list) else [])
    return {name: one for name, one in found.items() if name not in given or name == "example"}


def _table(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    return given[name] if isinstance(given.get(name), dict) else {}


def _default(found: SourceValue | None, otherwise: int, assumed: str) -> Default:
    if found is None or found.value is None:
        because = f"{found.option} has no default in {found.at}" if found else assumed
        return Default(otherwise, because, read=bool(found))
    because = f"{found.at}, the default of {found.option}" if found.option else found.at
    return Default(found.value, because)


def _entry(command: list[str], files: tuple[str, ...]) -> str:
    """Return which of the job's files a command runs; empty if it is none."""
    first = command[1:2] if command[0] == "-m" else command[:1]
    module = "".join(first).replace(".", "/") if command[0] == "-m" else ""
    ways = [f"{part}{module}{end}" for part in ("", f"{_SRC}/") for end in (".py", "/__main__.py")]
    return next((name for name in (ways if module else first) if name in files), "")


def _name(source: Source) -> str:
    script = "" if source.entry in {"", _SCRIPT} else f"_{Path(source.entry).stem}"
    slug = re.sub(r"[^a-z0-9_-]+", "_", f"{source.folder.name}{script}".lower()).strip("_-")
    return slug if slug[:1].isalpha() else f"job_{slug}"


def _summary(source: Source) -> Default:
    trees = (script.tree for script in source.scripts if script.name == source.entry)
    lines = [line for tree in trees for line in (ast.get_docstring(tree) or "").splitlines() if line.strip()]
    if lines:
        return Default(lines[0].strip()[:200], f"the first line of {source.entry}")
    return Default(f"{source.entry or source.folder.name}, as it is", "its name")


def _command(source: Source, sites: SourceValue | None, rounds: SourceValue | None) -> Default:
    """Return how the job is run: sizes are passed where its script has options for them."""
    if not source.entry:
        named = any(one.sites for one in source.configurations)
        words = ["-m", SIMULATES, "-t", "{sites}", *(() if named else ("-n", "{sites}"))]
        return Default(words, "NVFlare's simulator runs the folder")
    words = [source.entry]
    for found, word in ((sites, "{sites}"), (rounds, "{rounds}")):
        theirs = found and found.option and found.at.rpartition(":")[0] == source.entry
        if found and theirs and not isinstance(found.value, (list, tuple, str)):
            words += [found.option, word]
    return Default(
        words, f"{source.entry} is run with Python" if source.entry.endswith(".py") else source.entry
    )


def _path(source: Source) -> Default | None:
    """Return what the job's modules are imported from."""
    if any(name.startswith(f"{_SRC}/") and name.endswith(".py") for name in source.files):
        return Default(_SRC, f"{_SRC}/ is imported from")
    if "pyproject.toml" in source.files:
        return Default(".", "pyproject.toml has its packages imported from here")
    return None


def _ranks(source: Source) -> Default:
    texts = [(one.name, one.text) for one in source.scripts]
    texts += [(one.name, one.text) for one in source.configurations]
    for name, text in [(source.entry, source.words), *texts]:
        if match := re.search(r"--nproc[-_]per[-_]node[ =]+(\d+)", text):
            return Default(int(match[1]), f"--nproc_per_node in {name}")
    return Default(1, "one process at each site")


def _names(source: Source) -> Iterator[str]:
    """Yield the name of each class or function that its files import from NVFlare, call or configure."""
    for one in source.imports:
        yield one.name
    for script in source.scripts:
        for node in ast.walk(script.tree):
            if isinstance(node, ast.ClassDef):
                yield from map(take_last_name, node.bases)
    yield from (call.name for call in source.calls)
    for configuration in source.configurations:
        yield from (path.rpartition(".")[2] for path in configuration.classes)


def _proof(source: Source, names: set[str], rounds: SourceValue | None) -> Default:
    """Return what has to be shown of a job with these workflows."""
    others = {name for name in names if _WITHOUT_MODEL.fullmatch(name)} | (names & (_STATISTICS | _EVALUATES))
    trains = {name for name in names - others if _TRAINS.search(name) or name.endswith("Recipe")}
    trains |= {name for name in names & FLOWS.keys() if FLOWS[name].trains} - others
    statistics, evaluates = names & _STATISTICS, names & (_MATRIX | _EVALUATES)
    if names & _MATRIX and not names & (_EVALUATES | _WRITES_MATRIX):
        evaluates = set()
    claims = ["every_site_took_part"]
    if trains or (rounds and not others):
        unsaved = trains and trains <= _OWN and not any(_SAVES.search(one.text) for one in source.scripts)
        claims = ["every_site_trained", *claims, "rounds_completed"]
        claims += [] if unsaved else ["global_model_saved"]
    elif statistics or evaluates:
        claims.append("rounds_completed")
    claims += ["statistics_complete"] if statistics else []
    claims += ["cross_validation_complete"] if evaluates else []
    parts = {"it trains": trains, "it makes statistics": statistics, "it evaluates": evaluates}
    because = ", and ".join(f"{what} ({min(seen)})" for what, seen in parts.items() if seen)
    return Default([{"claim": claim} for claim in claims], because or "no workflow of NVFlare's trains in it")


def _environment(source: Source, listed: list[Any]) -> Default:
    """Return the smallest environment whose lock has most of what the job imports."""
    modules = {one.module for one in source.imports}
    modules |= {one.module + "." + one.name for one in source.imports if one.name}
    modules |= {path for one in source.configurations for path in one.classes if path.startswith("nvflare.")}
    roots = {module.partition(".")[0] for module in modules} - {*sys.stdlib_module_names, _OURS}
    roots |= {needed for module in modules for needed in find_needs(module)}
    roots |= {"tensorboard" for module in modules if module.startswith(_SUMMARIES)}
    wanted = {str(canonicalize_name(_PACKAGES.get(root, root))) for root in roots}
    wanted |= {
        _CALLED[word] for call in source.calls for word in (call.name, *call.keywords) if word in _CALLED
    }
    tracked = source.find_argument("tracking_type", ["add_experiment_tracking"])
    wanted |= {found.value for found in tracked if found.value in _TRACKERS}
    known = {name: locks.list_lock_packages(name) for name in list_environments()}
    chosen = min(known, key=lambda name: (len(wanted - known[name]), len(known[name])))
    optional = {one.module.partition(".")[0] for one in source.imports if one.optional}
    given = {_requirement(text) for text in listed}
    given |= {word for name in given for word in name.split("-")}  # pytorch-ignite brings ignite
    lacks = wanted - known[chosen] - given
    lacks -= {str(canonicalize_name(_PACKAGES.get(root, root))) for root in optional}
    because = f"its imports: {', '.join(sorted(wanted & known[chosen] - {'nvflare'})) or 'nvflare alone'}"
    lacking = f"; {', '.join(sorted(lacks))} would have to be in requirements" if lacks else ""
    return Default(chosen, because + lacking)


def _requirement(text: object) -> str:
    try:
        return str(canonicalize_name(Requirement(str(text)).name))
    except ValueError:
        return ""
