# SPDX-License-Identifier: Apache-2.0
"""``junit.xml``: one suite a host, one case a job.

Only PASS is green. FAIL, HUNG and UNPROVEN are failures: the job ran and did not prove itself. SKIPPED, LOST,
UNSUPPORTED and KNOWN_ISSUE are errors and not JUnit's ``skipped``, which most readers colour green. Only jobs
that are not required are ``skipped``, and all hosts of a playbook that was to prepare them alone, and did. A
run without hosts is an error too.
"""

from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from rekindle.records.text import fold_line
from rekindle.results.contents import NO_HOSTS, Results
from rekindle.results.row import Row

_FAILURES = {"FAIL", "HUNG", "UNPROVEN"}


def render_junit(results: Results) -> bytes:
    """Return the results as XML."""
    # Any, as junitparser leaves half of its methods without types.
    report: Any = JUnitXml(fold_line(results.playbook.run))
    for host in results.hosts:
        suite = TestSuite(fold_line(host.name))
        suite.add_testcases([_case(row, ready=results.state == "ready") for row in host.rows])
        report.append(suite)
    if not results.hosts:
        suite, case = TestSuite("run"), TestCase("hosts", classname="run")
        case.result = [Error(NO_HOSTS, "SKIPPED")]
        suite.add_testcase(case)
        report.append(suite)
    report.update_statistics()
    xml: bytes = report.tostring()
    return xml


def _case(row: Row, *, ready: bool) -> TestCase:
    case = TestCase(fold_line(row.job or "host"), classname=fold_line(row.host), time=row.duration_s)
    if row.kind != "PASS":
        kind = Skipped if ready else _kind(row)
        problem = kind(fold_line(f"{row.kind}: {row.cause or 'no cause was given'}"), row.kind)
        remedy = row.verdict.remedy if row.verdict else row.complaint and row.action and row.complaint.fix
        if remedy:
            problem.text = fold_line(f"{row.action}: {remedy}" if row.action else remedy)
        case.result = [problem]
    if row.kept and row.remark:
        case.system_out = fold_line(row.remark)
    if row.notice:
        case.system_err = fold_line(str(row.notice))
    return case


def _kind(row: Row) -> type[Failure | Error | Skipped]:
    if not row.required:
        return Skipped
    return Failure if row.kind in _FAILURES else Error
