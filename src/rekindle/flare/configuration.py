# SPDX-License-Identifier: Apache-2.0
"""What a job announced to NVFlare: its sites, and its workflows with their rounds."""

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from .workspace import SERVER, Workspace


class Flow(NamedTuple):
    """How a class of workflows runs."""

    rounds: int | None = None
    """Rounds where its configuration leaves them out; None if it has none to announce."""
    tasks: tuple[tuple[str, int | None], ...] = (("train", 1),)
    """Name of each task, and how many a site has in a round, or in all without rounds; None is one or
    more."""
    round_done: str | None = None
    """Regular expression of the server's message at the end of each round."""
    done: str | None = None
    """Regular expression of its message at the end."""
    trains: bool = True
    claim: str = ""
    """The claim of a job on what it leaves, which is no model."""
    refusable: frozenset[str] = frozenset()
    """Tasks that a site may refuse in a good run."""
    least: str = ""
    """Its argument with how many results end a round: those of other sites may come too late."""
    between_sites: bool = False
    """Whether sites send their results to each other, and one of them aggregates: swarm learning."""
    logs_metrics: bool = False
    """Whether it only logs the metrics that sites answer with, and writes none down."""


AGGREGATED = r"Aggregated (\d{1,9})/\1 results"
"""FedAvg's message when the last site of a round is in its mean."""
_FEDAVG_DONE = r"Finished FedAvg\."
_SAG_DONE = r"Finished ScatterAndGather Training\."
_SAG = Flow(5, round_done=r"Round \d{1,9} finished\.", done=_SAG_DONE, least="min_clients")
_VALIDATED = (("submit_model", 1), ("validate", None))
_EVALUATION = Flow(None, (("validate", None),), trains=False, claim="cross_validation_complete")
_CROSS_SITE = _EVALUATION._replace(tasks=_VALIDATED, refusable=frozenset({"submit_model"}))
FLOWS = {
    "FedAvg": Flow(5, round_done=AGGREGATED, done=_FEDAVG_DONE),
    "FedAvgLR": Flow(5, round_done=r"Newton-Raphson updates: ", done=_FEDAVG_DONE),
    "Scaffold": Flow(5, round_done=r"aggregating \d{1,9} update\(s\) at round", done=_FEDAVG_DONE),
    "FedOpt": Flow(5, round_done=r"aggregating \d{1,9} update\(s\) at round", done=_FEDAVG_DONE),
    "ScatterAndGather": _SAG,
    "ScatterAndGatherScaffold": _SAG,
    "Cyclic": Flow(5, round_done=r"End persist model on server\.", done=r"Finished Cyclic\."),
    "CyclicController": Flow(5),
    "CrossSiteModelEval": _CROSS_SITE,
    "CrossSiteEval": _CROSS_SITE._replace(done=r"Stop Cross-Site Evaluation\."),
    "GlobalModelEval": _EVALUATION,
    "EvalController": _EVALUATION._replace(tasks=(("validate", 1),), logs_metrics=True),
    "StatisticsController": Flow(
        None,
        (("fed_stats", 2),),
        done=r"task fed_stats control flow end\.",
        trains=False,
        claim="statistics_complete",
    ),
    "KM": Flow(None, (("train", 2),), trains=False, claim="survival_curves_fall"),
    "KM_HE": Flow(None, (("train", 3),), trains=False, claim="survival_curves_fall"),
    "FlowerController": Flow(
        None, (("config", 1), ("start", 1)), trains=False, claim="flower_results_received"
    ),
    "SwarmServerController": Flow(1, (("swarm_config", None),), between_sites=True),
    "CrossSiteEvalServerController": Flow(None, (("cse_config", 1),), trains=False),
    "InitializeGlobalWeights": Flow(None, (("get_weights", 1),), trains=False),
}
"""By the name of the class in NVFlare 2.7, or in its example for Kaplan-Meier."""
OUTPUTS = frozenset(flow.claim for flow in FLOWS.values()) - {""}
"""The claims on what a workflow leaves that trains no model."""
_OF_SVM = "nvflare.app_opt.sklearn.svm_assembler.SVMAssembler"


@dataclass(frozen=True)
class Workflow:
    """One of the workflows that a job runs, one after the other."""

    id: str
    kind: str
    arguments: dict[str, Any]
    flow: Flow | None
    """None for a class that is not known."""

    @property
    def rounds(self) -> int | None:
        """Rounds announced, or the class's default; None if it announces none."""
        default = self.flow.rounds if self.flow else None
        count = self.arguments.get("num_rounds", default) if default or not self.flow else None
        return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None

    @property
    def may_stop(self) -> bool:
        """Whether it may end before its last round."""
        return bool(self.arguments.get("stop_cond") or self.arguments.get("allow_early_termination"))

    def is_subject_of(self, claim: str) -> bool:
        """Whether it leaves what ``claim`` speaks of; one of a class that is not known may leave a model."""
        own = self.flow.claim if self.flow else ""
        return claim == own if claim in OUTPUTS else self.flow is None or self.flow.trains

    def count_sampled(self, sites: int) -> int:
        """Return how many of ``sites`` take part in a round."""
        count = self.arguments.get("num_clients")
        return min(sites, count) if isinstance(count, int) and count > 0 else sites

    def leaves_late(self, sites: int) -> bool:
        """Return whether a round may end before each of ``sites`` has answered."""
        least = self.arguments.get(self.flow.least) if self.flow else None
        return isinstance(least, int) and 0 < least < sites

    def trainers(self, sites: list[str]) -> list[str]:
        """Return those of ``sites`` that train: in swarm learning some may aggregate alone."""
        named = self.arguments.get("train_clients")
        return [site for site in sites if site in named] if named and isinstance(named, list) else sites

    def tasks(self) -> dict[str, int | None]:
        """Return how many tasks of each name a site has in all; None is one or more."""
        if self.flow is None:
            return {}
        named = {
            "train": self.arguments.get("task_name") or self.arguments.get("train_task_name"),
            "submit_model": self.arguments.get("submit_model_task_name"),
            "validate": self.arguments.get("validation_task_name"),
            "swarm_config": f"{self.arguments.get('task_name_prefix', 'swarm')}_config",
        }
        found = {}
        for name, count in self.flow.tasks:
            own = named.get(name)
            if own != "":
                found[own if isinstance(own, str) else name] = count and count * (self.rounds or 1)
        return found


def read_sites(workspace: Workspace) -> list[str]:
    """Return the sites that the job was to run at, in its order; empty if they are not known."""
    for name in (SERVER, *workspace.sites):
        member = workspace.members.get(name)
        meta = member.json("simulate_job/meta.json") or member.json("meta.json") if member else {}
        clients = _dicts(meta.get("job_clients"))
        names = [client["name"] for client in clients if isinstance(client.get("name"), str)]
        if names:
            return list(dict.fromkeys(names))
    return []


def read_workflows(workspace: Workspace) -> list[Workflow]:
    """Return the job's workflows in their order; empty if they are not known."""
    found = []
    for flow in _dicts(read_configuration(workspace, SERVER).get("workflows")):
        path, arguments = flow.get("path") or flow.get("name"), flow.get("args") or {}
        if isinstance(path, str) and isinstance(arguments, dict):
            kind = path.rpartition(".")[2]
            found.append(Workflow(str(flow.get("id")), kind, arguments, FLOWS.get(kind)))
    return found


def read_components(workspace: Workspace, site: str = "") -> list[dict[str, Any]]:
    """Return the components of the job's server or of ``site``, each with a ``path`` and ``args``."""
    found = _dicts(read_configuration(workspace, site or SERVER).get("components"))
    return [
        component
        for component in found
        if isinstance(component.get("path"), str) and isinstance(component.get("args", {}), dict)
    ]


def does_validate_at_end(workspace: Workspace) -> bool:
    """Whether sites send back the model of later rounds as they got it, as with NVFlare's recipe for SVM."""
    return any(component["path"] == _OF_SVM for component in read_components(workspace))


def does_launch(workspace: Workspace, site: str) -> bool:
    """Whether the site's client launches its trainers, instead of running them itself."""
    config = read_configuration(workspace, site)
    launchers = any(component.get("id") == "launcher" for component in _dicts(config.get("components")))
    executors = (entry.get("executor") for entry in _dicts(config.get("executors")))
    args = (executor.get("args") for executor in _dicts(list(executors)))
    return launchers or any("command" in given for given in _dicts(list(args)))  # since NVFlare 2.9


def list_trainers(
    workspace: Workspace, flow: Workflow, sites: list[str], tasks: Collection[str]
) -> list[str]:
    """Return those of ``sites`` that train in a workflow.

    In one of a user's own some may have another part: they have no executor for any of its ``tasks``.
    """
    trainers = flow.trainers(sites)
    if flow.flow or not tasks:
        return trainers
    return [site for site in trainers if _has_executor(workspace, site, tasks)]


def _has_executor(workspace: Workspace, site: str, names: Collection[str]) -> bool:
    """Whether a site has an executor for one of these tasks, as far as its configuration is known."""
    executors = _dicts(read_configuration(workspace, site).get("executors"))
    patterns = [str(pattern) for entry in executors for pattern in entry.get("tasks") or ()]
    return not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _dicts(value: object) -> list[dict[str, Any]]:
    """Return the mappings in a list of a configuration; nothing for anything else."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def read_configuration(workspace: Workspace, name: str) -> dict[str, Any]:
    """Return the configuration of ``name`` (``server``, ``site-1``) as NVFlare read it; empty if unknown.

    Of a run that Rekindle did not start it is its file, if that is JSON; sites have the server's too.
    """
    if (recorded := workspace.configurations.get(name)) is not None:
        return recorded
    kind, holders = ("server", [SERVER, *workspace.sites]) if name == SERVER else ("client", [name])
    members = (workspace.members[holder] for holder in holders if holder in workspace.members)
    found = (member.json(f"config/config_fed_{kind}.json") for member in members)
    return next(filter(None, found), {})
