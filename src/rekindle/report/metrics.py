# SPDX-License-Identifier: Apache-2.0
"""``metrics.prom``: a run in Prometheus' text format, as node_exporter's textfile collector reads it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeVar

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rekindle.acceptance.catalogue import load_measures
from rekindle.records import parse_time
from rekindle.records.action import Action, pick_severest
from rekindle.records.text import fold_line, shorten_text
from rekindle.results.causes import find_standing, generalise_text, group_causes
from rekindle.results.contents import HostResults, Results
from rekindle.results.joints import is_joint

LabelsT = TypeVar("LabelsT", bound=tuple[str, ...])

_JOB, _GPU = ("host", "job"), ("host", "model", "figure", "unit")
_CAUSE = ("cause", "verdict", "layer", "required", "message")
_MESSAGE = 200


def render_metrics(results: Results) -> bytes:
    """Return the run's verdicts and causes, times, rounds, GPU figures and ends of leases."""
    return generate_latest(_Run(results))


class _Run(Collector):
    """All metrics of a run."""

    def __init__(self, results: Results) -> None:
        """Take what was gathered."""
        self._results = results

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return a family for each metric."""
        results, run = self._results, fold_line(self._results.playbook.run)
        hosts = [host for host in results.hosts if host.rows and not is_joint(host.name)]
        counts = Counter(find_standing(host.rows) for host in hosts)
        began = _seconds(results.playbook.newest)
        yield _gauge("run_passed", "Whether every required job passed.", ("run",), {(run,): results.passed})
        yield _gauge(
            "run_started_timestamp_seconds", "Start of its latest playbook.", ("run",), {(run,): began}
        )
        of_hosts = {(run, kind): count for kind, count in counts.items()}
        yield _gauge("hosts", "Hosts by the worst verdict on them.", ("run", "verdict"), of_hosts)
        yield from self._jobs()
        ends = {(fold_line(host.name),): _seconds(host.lease_ends) for host in results.hosts}
        yield _gauge("lease_end_timestamp_seconds", "When the host's lease ends.", ("host",), ends)
        accepted = {(fold_line(of.host), of.verdict): 1 for of in results.accepted[0].hosts}
        yield _gauge("acceptance", "1 for the verdict on the host's GPUs.", ("host", "verdict"), accepted)
        asked: dict[str, list[Action]] = {}
        judged = [(of.host, of.action) for of in results.accepted[0].hosts]
        for host, action in (*judged, *((row.host, row.action) for row in results.rows)):
            if action:
                asked.setdefault(fold_line(host), []).append(action)
        actions = {(host, pick_severest(found)): 1 for host, found in asked.items()}
        text = "1 for the most severe that acceptance and preflight ask the host's operator for."
        yield _gauge("host_action", text, ("host", "action"), actions)
        figures = {labels: value for host in results.hosts for labels, value in _figures(host).items()}
        text = "What the worst GPU of a host does, as it was measured before jobs ran."
        yield _gauge("worst_gpu_figure", text, _GPU, figures)

    def _jobs(self) -> Iterator[GaugeMetricFamily]:
        rows = {(fold_line(row.host), fold_line(row.job or "")): row for row in self._results.rows}
        found = group_causes(self._results.rows)
        names = {row.host for row in rows.values()}
        named = {id(row): (cause.name, cause.layer or "") for cause in found for row in cause.rows}
        verdicts = {
            (*key, row.kind, str(row.required).lower(), *named.get(id(row), ("", ""))): 1
            for key, row in rows.items()
        }
        hosts = {
            (
                *(cause.name, cause.kind, cause.layer or "", str(cause.required).lower()),
                shorten_text(fold_line(generalise_text(cause.message, names)), _MESSAGE),
            ): len(cause.hosts)
            for cause in found
        }
        yield _gauge("cause_hosts", "Hosts on which a cause shows.", _CAUSE, hosts)
        judged = {key: row.verdict for key, row in rows.items() if row.verdict}
        started = {key: _seconds(verdict.started) for key, verdict in judged.items()}
        took = {key: verdict.duration_s for key, verdict in judged.items()}
        rounds = {key: len({of.round for of in verdict.rounds}) for key, verdict in judged.items()}
        text = "1 for the verdict on the job, or on the host itself where the job is empty."
        yield _gauge("verdict", text, (*_JOB, "verdict", "required", "cause", "layer"), verdicts)
        yield _gauge("job_started_timestamp_seconds", "When the run that was judged began.", _JOB, started)
        yield _gauge("job_duration_seconds", "How long it took.", _JOB, took)
        yield _gauge("job_rounds", "Rounds that left evidence.", _JOB, rounds)


def _gauge(
    name: str, text: str, labels: tuple[str, ...], values: Mapping[LabelsT, float | None]
) -> GaugeMetricFamily:
    """Return a family with its ``values`` by label; None is unknown, and left out."""
    family = GaugeMetricFamily(f"rekindle_{name}", text, labels=labels)
    for of, value in values.items():
        if value is not None:
            family.add_metric(of, value)
    return family


def _figures(host: HostResults) -> dict[tuple[str, ...], float]:
    """Return the lowest rate of a host's GPUs, by figure and model: a line, not one a GPU."""
    known, record = load_measures(), host.acceptance
    gpus = {gpu.uuid: gpu for gpu in (record.gpus if record else ())}
    found: dict[tuple[str, ...], float] = {}
    for measured in record.measurements if record else ():
        gpu, measure = gpus.get(measured.gpu or ""), known.get(measured.name)
        if (
            gpu
            and measure
            and measured.value is not None
            and measure.of == "gpu"
            and measure.fault == "speed"
        ):
            labels = tuple(map(fold_line, (host.name, gpu.name, measured.name, measured.unit)))
            value = found.get(labels, measured.value)
            found[labels] = value if measure.worse(value, measured.value) >= 0 else measured.value
    return found


def _seconds(stamp: str | None) -> float | None:
    return parse_time(stamp).timestamp() if stamp else None
