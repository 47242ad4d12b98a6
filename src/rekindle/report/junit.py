"""``junit.xml``: one suite a host, one case a job.

Only PASS is green. FAIL, HUNG and UNPROVEN are failures, as the job ran; SKIPPED, UNSUPPORTED and KNOWN_ISSUE
are errors rather than skips, because a job that was asked for and not proven must stop whoever reads this.
"""

from __future__ import annotations

from pathlib import Path

from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite

from .gather import Results, Row
from .text import clean

_FAILURES = {"FAIL", "HUNG", "UNPROVEN"}


def write_junit(results: Results, path: Path) -> None:
    """Write the results to ``path``."""
    report = JUnitXml(clean(results.run.run))
    for host in results.hosts:
        suite = TestSuite(clean(host.name))
        for row in host.rows:
            suite.add_testcase(_case(row))
        report.add_testsuite(suite)
    report.write(str(path), pretty=True)


def _case(row: Row) -> TestCase:
    seconds = row.verdict.duration_s if row.verdict else None
    case = TestCase(clean(row.job or "host"), classname=clean(row.host), time=seconds)
    if row.kind != "PASS":
        kind = Failure if row.kind in _FAILURES else Error
        case.result = [kind(message=clean(f"{row.kind}: {row.cause}"), type_=row.kind)]
    return case
