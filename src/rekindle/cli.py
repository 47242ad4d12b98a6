"""The ``rekindle`` command: each verb redoes one stage from its records, on any machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from rekindle import bundle, diff, doctor, records, report, solver, verify
from rekindle.judge import judge
from rekindle.records.plan import FRAMEWORKS


def _judge(run_dir: Path, as_json: bool) -> int:
    verdict = judge(run_dir)
    if as_json:
        print(report.as_json(verdict))
    else:
        print("\n".join(report.printed(line) for line in _lines(verdict)))
    return 0 if verdict.verdict == "PASS" else 1


def _lines(verdict: records.VerdictRecord) -> Iterator[str]:
    yield f"{verdict.host} {verdict.job}: {verdict.verdict}" + (f": {verdict.cause}" if verdict.cause else "")
    for one in verdict.evidence:
        mark = {True: "holds", False: "FAILS", None: "cannot be told"}[one.holds]
        place = f" ({one.file}{f':{one.line}' if one.line else ''})" if one.file else ""
        yield f"  {one.claim}: {mark}. {one.says}{place}"
    for rung in verdict.rungs:
        word = {True: "holds", False: "FAILS", None: "not tried"}[rung.holds]
        yield f"  step {rung.name}: {word}. {rung.says}"


def _diagnose(paths: list[str], as_json: bool) -> int:
    named = [Path(path) for path in paths if path != "-"]
    findings = doctor.diagnose_paths(named)
    if "-" in paths or not paths:
        text = doctor.texts.text("standard input", sys.stdin.buffer.read(doctor.texts.LIMIT))
        findings += doctor.diagnose_texts([text])
    findings = tuple(sorted(findings, key=lambda one: one.echo))
    if as_json:
        print(report.as_json(findings))
    else:
        print(report.findings(findings))
    return 1 if findings else 0


def main() -> int:
    """Run the verb that the command line names; 2 and one sentence if what it is given is no good."""
    parser = argparse.ArgumentParser(prog="rekindle", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)

    plan = verbs.add_parser("plan", help="decide from a host.json which builds go on that host")
    plan.add_argument("host", type=Path, metavar="HOST.json")
    plan.add_argument("--framework", choices=FRAMEWORKS)
    plan.add_argument("--json", action="store_true")

    judging = verbs.add_parser("judge", help="judge a job's run again from its files")
    judging.add_argument("run", type=Path, metavar="RUN_DIR")
    judging.add_argument("--json", action="store_true")

    diagnosing = verbs.add_parser("diagnose", help="name what made a run fail, from its files or any log")
    diagnosing.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="log file, run's folder, workspace of NVFlare; - or nothing: standard input",
    )
    diagnosing.add_argument("--json", action="store_true")

    bundling = verbs.add_parser(
        "bundle", help="collect the locked wheels of plans, for hosts without a network"
    )
    bundling.add_argument("plans", type=Path, nargs="+", metavar="PLAN.json", help="beside its host.json")
    bundling.add_argument("-o", "--output", type=Path, required=True, metavar="WHEELHOUSE")

    differing = verbs.add_parser("diff", help="say what differs between the environments of two env.json")
    differing.add_argument("one", type=Path, metavar="ENV_A")
    differing.add_argument("other", type=Path, metavar="ENV_B")

    reporting = verbs.add_parser("report", help="write the reports of a results folder again")
    reporting.add_argument("results", type=Path, metavar="RESULTS_DIR")

    verifying = verbs.add_parser("verify", help="say which files of sealed runs were altered since")
    verifying.add_argument("results", type=Path, metavar="RESULTS_DIR")
    verifying.add_argument(
        "--key",
        type=Path,
        metavar="PUBLIC.pem",
        help="the key that has to have sealed them; yours by default",
    )

    args = parser.parse_args()
    try:
        return _run(args)
    except (records.RecordError, bundle.BundleError) as error:
        print(report.one_line(str(error)), file=sys.stderr)
        return 2


def _run(args: argparse.Namespace) -> int:  # noqa: PLR0911 - one verb, one return
    match args.verb:
        case "plan":
            return solver.run(args.host, args.framework, args.json)
        case "judge":
            return _judge(args.run, args.json)
        case "diagnose":
            return _diagnose(args.paths, args.json)
        case "bundle":
            bundle.bundle(args.plans, args.output)
            return 0
        case "diff":
            return diff.run(args.one, args.other)
        case "report":
            return report.run(args.results)
        case _:
            return verify.run(args.results, args.key)


if __name__ == "__main__":
    sys.exit(main())
