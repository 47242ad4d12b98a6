# SPDX-License-Identifier: Apache-2.0
"""A framework's planned build, for a terminal."""

from rekindle.records import PlannedEnvironment
from rekindle.records.plan import name_runtime


def list_plan_lines(environment: PlannedEnvironment) -> list[str]:
    """Return a framework's build and the reasons for it, or its refusal."""
    build = environment.build
    if build is None:
        return [f"{environment.framework}: refused", f"  {environment.refusal}"]
    head = f"{environment.framework}: {build.version} ({name_runtime(build.cuda)})"
    lines = [f"{head}, Python {build.python_version}, {build.lock}"]
    lines += [f"  {reason.axis}: {reason.message}" for reason in environment.reasons]
    return lines + [f"  warning: {warning}" for warning in environment.warnings]
